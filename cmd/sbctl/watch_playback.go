package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/tui"
)

// pastFlags are the flags of watch that play back the past.
type pastFlags struct {
	on              bool
	from, to, speed string
}

func (f *pastFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "playback", false, "play back the past instead of the live board")
	flags.StringVar(&f.from, "from", "",
		"with --playback: begin at this `time` (alias --since; default: start of the period, or a day ago)")
	flags.StringVar(&f.to, "to", "", "with --playback: end at this `time` (alias --until; default: now)")
	flags.StringVar(&f.speed, "speed", "60x", "with --playback: speed relative to real time, 1x to 86400x")
	acceptSince(flags, "from", "to")
}

// check rejects flags that require --playback.
func (f *pastFlags) check(cmd *cobra.Command) error {
	for _, name := range []string{"from", "to", "speed"} {
		if !f.on && cmd.Flags().Changed(name) {
			return usagef("--%s requires --playback", name)
		}
	}
	return nil
}

// playback returns what is played back.
func (f *pastFlags) playback(c *client.Client, board string, limit int) (r tui.Playback, err error) {
	r.Board = board
	if r.From, err = timeFlag("from", f.from); err != nil {
		return r, err
	}
	if r.To, err = timeFlag("to", f.to); err != nil {
		return r, err
	}
	r.Speed, err = strconv.ParseFloat(strings.TrimSuffix(f.speed, "x"), 64)
	if err != nil || !(r.Speed >= 1 && r.Speed <= tui.MaxSpeed) {
		return r, usagef("--speed must be 1x to %dx, such as 60x, not %q", tui.MaxSpeed, f.speed)
	}
	r.Load = func(ctx context.Context, from, to time.Time, step time.Duration) (client.Timeline, error) {
		q := client.TimelineQuery{Board: board, From: from, To: to, Step: step, Limit: limit}
		timeline, err := c.Timeline(ctx, q)
		if err == nil {
			board = timeline.Board // the next part of a family may begin in the time of the next period
		}
		return timeline, err
	}
	return r, nil
}

// watchReplay plays back the past on the screen, as a line for each change, or as values.
func watchReplay(
	ctx context.Context, server *connector, out *output, r tui.Playback, onScreen bool, o tui.Options,
) error {
	switch {
	case server.curl:
		_, err := r.Load(ctx, r.From, r.To, time.Second)
		return err
	case onScreen:
		o.Playback = &r
		return tui.Run(ctx, out.stdin, out.stdout, o)
	case out.structured():
		return playbackStructured(ctx, out, r)
	}
	return tui.PlaybackLines(ctx, out.stdout, r)
}

// playbackStructured prints every frame, without waiting: with json and ndjson as one line of JSON.
func playbackStructured(ctx context.Context, out *output, r tui.Playback) error {
	out.repeats = true
	for from, to := r.From, r.To; ; {
		timeline, err := r.Load(ctx, from, to, r.Step())
		if err != nil {
			return err
		}
		for _, f := range timeline.Frames {
			switch out.format {
			case "json", "ndjson":
				err = writeJSON(out.stdout, f, "")
			case "csv":
				err = out.printStructured(f.Entries)
			default:
				err = out.printStructured(f)
			}
			if err != nil {
				return err
			}
		}
		if timeline.NextFrom == nil {
			return nil
		}
		from, to = *timeline.NextFrom, timeline.End
	}
}
