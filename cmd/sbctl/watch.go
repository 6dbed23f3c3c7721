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

// confirmEvery is how old what a person looks at may be said to be on an idle
// board.
const confirmEvery = 2 * time.Second

// statusEvery is how often it is asked whether a board takes scores.
const statusEvery = 3 * time.Second

func newWatchCmd(p *program) *cobra.Command {
	var board string
	var limit int
	var plain, ascii bool
	cmd := &cobra.Command{
		Use: "watch", Short: "Follow a board live", Args: takes(),
		Long: `Follow a board live.

On a terminal this is a screen that moves: ? shows its keys, among them those for
another board or period and for a user's place; q leaves it. A token with the
scope score:admin also sees how the server feels. Without a terminal it is a plain table a second; --plain is a line for each change, which
suits screen readers; --output json is a JSON object for each state. It reconnects
by itself and ends, with exit code 0, when it is interrupted.`,
		Example: trimExamples(`
  sbctl watch
  sbctl watch --board global --plain`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			if limit != 10 && limit != 100 {
				return usagef("--limit is 10 or 100")
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			// People look at the age of what is shown; scripts do not.
			o := client.WatchOptions{Limit: limit}
			if p.output != "json" {
				o.Confirm = confirmEvery
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
			var asking sync.WaitGroup
			defer asking.Wait()
			defer cancel()
			status := make(chan string)
			asking.Go(func() { tellStatus(ctx, c, board, status) })
			return show(ctx, p.stdout, tui.Plain{States: states, Status: status, Explain: p.explain})
		}),
	}
	flags := cmd.Flags()
	addBoardFlag(cmd, &board)
	flags.IntVar(&limit, "limit", 10, "how many users: 10 or 100")
	flags.BoolVar(&plain, "plain", false, "a line for each change instead of a screen")
	flags.BoolVar(&ascii, "ascii", false, "draw the screen with ASCII alone")
	return cmd
}

// tellStatus asks every few seconds whether the board takes scores, which its
// stream does not tell, and says what is new.
func tellStatus(ctx context.Context, c *client.Client, board string, to chan<- string) {
	again := time.NewTicker(statusEvery)
	defer again.Stop()
	for told := ""; ; {
		if b, err := c.Board(ctx, board); err == nil && b.Status != told {
			select {
			case to <- b.Status:
				told = b.Status
			case <-ctx.Done():
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// watchJSON prints every state as one line of JSON.
func (p *program) watchJSON(ctx context.Context, states <-chan client.State) error {
	encoder := json.NewEncoder(p.stdout)
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
