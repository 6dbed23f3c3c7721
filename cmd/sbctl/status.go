package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/english"
)

func newStatusCmd(p *program) *cobra.Command {
	var board string
	cmd := &cobra.Command{
		Use: "status", Short: "Show the rates and the backlog of the server", Args: exactArgs(),
		Long: `Show the rates and the backlog of the server, and the state of a board's ranking: for
the node that answers, except for the outbox and the consumers, which all nodes share.
"sbctl doctor" diagnoses what is wrong.`,
		Example: trimExamples(`
  sbctl status
  sbctl status --watch`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			s, err := readStatus(cmd.Context(), c, board)
			if err != nil {
				return err
			}
			return p.print(s, func() *table { return statusTable(&s) })
		}),
	}
	addBoardFlag(cmd, &board)
	return repeatable(p.connector, p.output, cmd)
}

// rateWindow is how long readStatus waits for a rate.
const rateWindow = time.Second

// readStatus reads the status twice if the first response has no rates: the server
// measures them between two reads.
func readStatus(ctx context.Context, c *client.Client, board string) (client.Status, error) {
	s, err := c.Status(ctx, board)
	if err != nil || s.IncrementsPerSecond != nil {
		return s, err
	}
	select {
	case <-ctx.Done():
		return s, ctx.Err()
	case <-time.After(rateWindow):
	}
	return c.Status(ctx, board)
}

func statusTable(s *client.Status) *table {
	t := newTable()
	t.add("roles", strings.Join(s.Roles, ", "))
	t.add("up", (time.Duration(s.UptimeSeconds) * time.Second).String())
	if s.IncrementsPerSecond != nil {
		rate := fmt.Sprintf("%.1f/s", *s.IncrementsPerSecond)
		if s.LatencyP95MS != nil {
			rate += fmt.Sprintf(", p95 %.1f ms", *s.LatencyP95MS)
		}
		t.add("increments", rate)
	}
	if s.OutboxDepth != nil {
		waiting := english.Count(*s.OutboxDepth, "change")
		if s.OutboxOldestAgeMS != nil && *s.OutboxDepth > 0 {
			waiting += fmt.Sprintf(", the oldest for %v", ms(*s.OutboxOldestAgeMS))
		}
		t.add("outbox", waiting)
	}
	for _, topic := range slices.Sorted(maps.Keys(s.ConsumerLag)) {
		t.add("to consume", english.Count(s.ConsumerLag[topic], "record")+" of "+topic)
	}
	for _, topic := range slices.Sorted(maps.Keys(s.DamagedLogs)) {
		t.add("damaged", fmt.Sprintf("log of %s, %s lost", topic, english.Count(s.DamagedLogs[topic], "record")))
	}
	if q := s.Parity; q != nil {
		t.add("parity", fmt.Sprintf("%s compared, %d drifted, %d repaired", english.Count(q.Checked, "user"),
			q.Drifted, q.Repaired))
	}
	if len(s.Connections) > 0 {
		var parts []string
		for _, transport := range slices.Sorted(maps.Keys(s.Connections)) {
			parts = append(parts, fmt.Sprintf("%d %s", s.Connections[transport], transport))
		}
		t.add("connections", strings.Join(parts, ", "))
	}
	if b := s.Board; b != nil {
		row := fmt.Sprintf("%s, %s, version %d", b.ShownState(), english.Count(b.Members, "member"), b.Version)
		if b.AgeMS != nil {
			row += fmt.Sprintf(", %v behind", ms(*b.AgeMS))
		}
		t.add("board "+b.Board, row)
	}
	for _, problem := range s.Problems {
		t.add("problem", problem)
	}
	return t
}
