package admin

import (
	"context"
	"log/slog"
	"time"

	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/store/increments"
)

// Used action tokens are remembered for longer than an increment that carries
// one may wait to be recorded.
const (
	tokenRetention = config.RepeatWindow + 5*24*time.Hour
	sweepInterval  = 10 * time.Minute
	sweepBatch     = 5_000
)

// TokenSweeper deletes used action tokens whose increments can no longer arrive.
type TokenSweeper struct {
	Increments *increments.Increments
	Log        *slog.Logger
}

// Run sweeps at sweepInterval until ctx ends.
func (s TokenSweeper) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for {
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("used action tokens not deleted", "err", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (s TokenSweeper) sweep(ctx context.Context) error {
	for {
		n, err := s.Increments.DeleteUsedTokens(ctx, time.Now().Add(-tokenRetention), sweepBatch)
		if err != nil || n < sweepBatch {
			return err
		}
	}
}
