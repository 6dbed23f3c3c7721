package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

const (
	// defaultRepeat is the interval of --watch without a value.
	defaultRepeat = "2s"
	// minRepeat keeps a mistyped interval from being a load test.
	minRepeat = 100 * time.Millisecond
)

// repeatable adds --watch to a command that only reads: it is then run again and again
// until it is interrupted, which is not an error.
func repeatable(server *connector, out *output, cmd *cobra.Command) *cobra.Command {
	var every time.Duration
	cmd.Flags().DurationVar(&every, "watch", 0, "repeat until interrupted, at this interval")
	cmd.Flag("watch").NoOptDefVal = defaultRepeat
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case !cmd.Flags().Changed("watch") || server.curl:
			return run(cmd, args)
		case every < minRepeat:
			return usagef("--watch must be at least %v", minRepeat)
		}
		return repeat(cmd.Context(), server, out, every, func() error { return run(cmd, args) })
	}
	return cmd
}

// repeat runs a command at an interval. On a terminal each result replaces the one before
// it. An error of the first run ends it; a later one is shown, and the next run follows.
func repeat(ctx context.Context, server *connector, out *output, every time.Duration, run func() error) error {
	screen := &redrawer{to: out.stdout}
	out.repeats = true
	if screen.redraws = out.redraws(out.stdout); screen.redraws {
		stdout, stderr := out.stdout, out.stderr
		defer func() { out.stdout, out.stderr = stdout, stderr }()
		out.stdout, out.stderr = &screen.frame, &screen.frame
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for first := true; ; first = false {
		err := run()
		if ctx.Err() != nil {
			return nil
		}
		var failed *client.Error
		if err != nil && (first || !errors.As(err, &failed)) {
			return errors.Join(screen.draw(), err)
		}
		if err != nil {
			out.infof("%s", server.explain(err))
		}
		if err := screen.draw(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// redrawer draws frames over each other.
type redrawer struct {
	to      io.Writer
	redraws bool
	frame   bytes.Buffer // what the command printed
	lines   int          // of the frame on the screen
}

func (d *redrawer) draw() error {
	if !d.redraws {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(d.frame.String(), "\n"), "\n")
	d.frame.Reset()
	width, height := terminalSize(d.to)
	if len(lines) > height-1 {
		lines = append(lines[:height-2], fmt.Sprintf("… %d more", len(lines)-height+2))
	}
	var b strings.Builder
	if d.lines > 0 {
		b.WriteString(ansi.CursorUp(d.lines))
	}
	for _, line := range lines {
		b.WriteString(ansi.Truncate(line, width, "…") + ansi.EraseLineRight + "\n")
	}
	b.WriteString(ansi.EraseScreenBelow)
	d.lines = len(lines)
	_, err := io.WriteString(d.to, b.String())
	return err
}

// terminalSize is the size of a terminal in cells; 80x24 if it is not known.
func terminalSize(stream any) (width, height int) {
	if f, ok := stream.(*os.File); ok {
		if w, h, err := term.GetSize(f.Fd()); err == nil && w > 0 && h > 2 {
			return w, h
		}
	}
	return 80, 24
}
