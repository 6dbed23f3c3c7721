package main

import (
	"context"
	"fmt"

	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// probeLoad checks what every increment of a load needs, before any is sent: its boards,
// the token, its scope, the key and the clock. It writes nothing.
func probeLoad(ctx context.Context, cn *connector, load *plan.Plan) error {
	c, err := cn.client()
	if err != nil {
		return err
	}
	defer c.Close()
	boards := load.Boards
	if len(boards) == 0 {
		boards = []string{string(scoreboard.GlobalBoard)}
	}
	for _, name := range boards {
		b, err := c.Board(ctx, name)
		if err != nil {
			return fmt.Errorf("the load did not start: %w", cn.humanize(err))
		}
		if b.Status != "active" {
			return fmt.Errorf("the load did not start: board %s is %s and accepts no scores", name, b.Status)
		}
	}
	// The server verifies token, scope and signature of a batch before it looks at the items.
	if _, err := c.SubmitBatch(ctx, nil); err != nil {
		return fmt.Errorf("the load did not start: %w", cn.humanize(err))
	}
	return nil
}
