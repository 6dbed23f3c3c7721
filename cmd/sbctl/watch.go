package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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
	var plain, ascii, noMotion bool
	var past pastFlags
	cmd := &cobra.Command{
		Use: "watch", Short: "Watch a board live", Args: exactArgs(),
		Long: `Watch a board live.

On a terminal this is a live screen of 100 users (10 with --limit 10). ? lists its keys:
enter opens a player, / finds one, b switches the board, t the period, q quits. With a
token that has score:operate it also shows the health of the pipeline; f lists the open
flags, J the jobs and d the dead letters, each with the command that acts on it, and a
opens a menu to freeze, rebuild or ban. Without a terminal it prints a plain
table of 10 users every second. --plain prints one line per change, which suits screen readers;
--output json prints one JSON object per state. It reconnects automatically and ends
with exit code 0 when interrupted.

With --playback, play back the past: by default the whole current period of the board, or the
last day of a board without periods. Space pauses, left and right go to the previous and the
next change, + and - change the speed. --plain and output that is not a terminal print one
line per change at that speed; --output json prints one JSON object per change without waiting.`,
		Example: trimExamples(`
  sbctl watch
  sbctl watch --playback --board cup:autumn --speed 3600x
  sbctl watch --board global --plain`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			if limit != 10 && limit != 100 {
				return usagef("--limit must be 10 or 100")
			}
			if err := past.check(cmd); err != nil {
				return err
			}
			if p.curl && !past.on {
				return printStream(cmd.Context(), p.connector, board, limit)
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			onTerminal := p.redraws(p.stdout) && isTerminal(p.stdin)
			onScreen := p.format != "json" && !plain && onTerminal
			if onScreen && !cmd.Flags().Changed("limit") {
				limit = 100
			}
			if past.on {
				r, err := past.playback(c, board, limit)
				if err != nil {
					return err
				}
				o := screen(p.connector, c, board, nil)
				o.ASCII, o.NoMotion = ascii, noMotion
				return watchReplay(ctx, p.connector, p.output, r, onScreen, o)
			}
			// Only the screen and the table show the age.
			o := client.WatchOptions{Limit: limit}
			if !p.structured() {
				o.Confirm = pingInterval
			}
			watch := func(ctx context.Context, board string) <-chan client.State { return c.Watch(ctx, board, o) }
			if onScreen {
				o := screen(p.connector, c, board, watch)
				o.ASCII, o.NoMotion = ascii, noMotion
				return tui.Run(ctx, p.stdin, p.stdout, o)
			}
			states := watch(ctx, board)
			if p.structured() {
				return watchStructured(ctx, p.output, states)
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
	flags.IntVar(&limit, "limit", 10, "number of users: 10 or 100 (on the live screen 100 by default)")
	flags.BoolVar(&plain, "plain", false, "print one line per change instead of a screen")
	past.add(flags)
	flags.BoolVar(&ascii, "ascii", false, "draw the screen with ASCII characters only")
	flags.BoolVar(&noMotion, "no-motion", false, "draw moved rows and changed scores without animation")
	return cmd
}

// printStream prints the request for a board's stream of events, which curl can follow.
func printStream(ctx context.Context, cn *connector, board string, limit int) error {
	s, err := cn.connection()
	if err != nil {
		return err
	}
	query := url.Values{"board": {board}, "limit": {strconv.Itoa(limit)}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		strings.TrimSuffix(s.Server.Value, "/")+"/v1/realtime/leaderboard?"+query.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	if s.Token.Value != "" {
		r.Header.Set("Authorization", "Bearer")
	}
	_, err = io.WriteString(cn.stdout, curlCommand(r, "", nil))
	return err
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

// watchStructured prints every state: with json and ndjson as one line of JSON.
func watchStructured(ctx context.Context, out *output, states <-chan client.State) error {
	out.repeats = true
	var last error
	for s := range states {
		line := struct {
			client.State
			Error string `json:"error,omitempty"`
		}{State: s}
		if last = s.Err; last != nil {
			line.Error = last.Error()
		}
		var err error
		switch out.format {
		case "json", "ndjson":
			err = writeJSON(out.stdout, line, "")
		case "csv":
			err = out.printStructured(s.Entries)
		default:
			err = out.printStructured(line)
		}
		if err != nil {
			return err
		}
	}
	if ctx.Err() != nil || errors.Is(last, context.Canceled) {
		return nil
	}
	return last
}
