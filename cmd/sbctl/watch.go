package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/tui"
)

// pingInterval is how often an idle connection is checked, so that the age on
// screen stays low.
const pingInterval = 2 * time.Second

// statusInterval is how often the board's status is polled.
const statusInterval = 3 * time.Second

func newWatchCmd(p *program) *cobra.Command {
	var board string
	var limit int
	var plain, ascii bool
	cmd := &cobra.Command{
		Use: "watch", Short: "Watch a board live", Args: exactArgs(),
		Long: `Watch a board live.

On a terminal this is a live screen: ? lists its keys, such as those that switch the
board or the period and search for a user; q quits. With a token that has
score:admin it also shows the server's status. Without a terminal it prints a plain
table every second. --plain prints one line per change, which suits screen readers;
--output json prints one JSON object per state. It reconnects automatically and ends
with exit code 0 when interrupted.`,
		Example: trimExamples(`
  sbctl watch
  sbctl watch --board global --plain`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			if limit != 10 && limit != 100 {
				return usagef("--limit must be 10 or 100")
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			// Only the screen and the table show the age.
			o := client.WatchOptions{Limit: limit}
			if p.output != "json" {
				o.Confirm = pingInterval
			}
			watch := func(ctx context.Context, board string) <-chan client.State { return c.Watch(ctx, board, o) }
			onTerminal := isTerminal(p.stdout) && isTerminal(p.stdin) && p.env["TERM"] != "dumb"
			if p.output != "json" && !plain && onTerminal {
				return tui.Run(ctx, p.stdin, p.stdout, p.screen(c, board, ascii, watch))
			}
			states := watch(ctx, board)
			if p.output == "json" {
				return p.watchJSON(ctx, states)
			}
			show := tui.Frames
			if plain {
				show = tui.Lines
			}
			var polling sync.WaitGroup
			defer polling.Wait()
			defer cancel()
			status := make(chan string)
			polling.Go(func() { pollStatus(ctx, c, board, status) })
			return show(ctx, p.stdout, tui.Plain{States: states, Status: status, Explain: p.explain})
		}),
	}
	flags := cmd.Flags()
	addBoardFlag(cmd, &board)
	flags.IntVar(&limit, "limit", 10, "number of users: 10 or 100")
	flags.BoolVar(&plain, "plain", false, "print one line per change instead of a screen")
	flags.BoolVar(&ascii, "ascii", false, "draw the screen with ASCII characters only")
	return cmd
}

// pollStatus sends the board's status when it changes. The stream does not
// include it.
func pollStatus(ctx context.Context, c *client.Client, board string, to chan<- string) {
	tick := time.NewTicker(statusInterval)
	defer tick.Stop()
	for sent := ""; ; {
		if b, err := c.Board(ctx, board); err == nil && b.Status != sent {
			select {
			case to <- b.Status:
				sent = b.Status
			case <-ctx.Done():
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// watchJSON prints every state as one line of JSON.
func (p *program) watchJSON(ctx context.Context, states <-chan client.State) error {
	encoder := json.NewEncoder(&jsonEscaper{w: p.stdout})
	encoder.SetEscapeHTML(false)
	var last error
	for s := range states {
		line := struct {
			client.State
			Error string `json:"error,omitempty"`
		}{State: s}
		if last = s.Err; last != nil {
			line.Error = last.Error()
		}
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	if ctx.Err() != nil || errors.Is(last, context.Canceled) {
		return nil
	}
	return last
}
