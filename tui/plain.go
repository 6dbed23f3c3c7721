package tui

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// Plain is the input of the outputs without a screen.
type Plain struct {
	States <-chan client.State
	// Status delivers changes of the board's status: active, frozen or archived.
	Status <-chan string
	// Explain formats an error for users.
	Explain func(error) string
}

// Frames writes the board as a small table at once and then every second, until
// the states or ctx end.
func Frames(ctx context.Context, out io.Writer, p Plain) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var s client.State
	status := ""
	first := true
	for {
		select {
		case status = <-p.Status:
			continue
		case next, open := <-p.States:
			if !open {
				return ended(ctx, s.Err)
			}
			s = next
			if !first || s.Connection == client.Disconnected {
				continue
			}
			first = false
		case <-tick.C:
			if s.Connection == "" {
				continue
			}
		}
		if _, err := io.WriteString(out, frame(&s, status, time.Now(), p.Explain)); err != nil {
			return err
		}
	}
}

func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func frame(s *client.State, status string, now time.Time, explain func(error) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  v%d  ", Printable(s.Board), s.Version)
	if s.HeardAt.IsZero() {
		b.WriteString("no data yet")
	} else {
		b.WriteString(age(now.Sub(s.HeardAt)) + " old")
	}
	fmt.Fprintf(&b, "  %s  %s", s.Connection, plural(s.Reconnects, "reconnect"))
	if status != "" && status != active {
		b.WriteString("  " + Printable(status))
	}
	if s.Degraded != "" {
		b.WriteString("  degraded: " + Printable(s.Degraded))
	}
	if s.Err != nil {
		b.WriteString("  " + Printable(explain(s.Err)))
	}
	b.WriteByte('\n')
	widest := 0
	for _, e := range s.Entries {
		widest = max(widest, cells(name(e, false)))
	}
	for _, e := range s.Entries {
		fmt.Fprintf(&b, "%4d  %s  %12d", e.Rank, fit(name(e, false), widest, ""), e.Score)
		if e.Subscore != nil {
			fmt.Fprintf(&b, "  %8d", *e.Subscore)
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.String()
}

// connectionWords describe a connection in text.
var connectionWords = map[client.Connection]string{
	client.WebSocket: "live", client.SSE: "live (SSE)", client.Polling: "polled every few seconds",
	client.Disconnected: "disconnected",
}

// Lines writes a line for each change of a score, of the users shown, of the
// connection and of the board's status. It ends as Frames does.
func Lines(ctx context.Context, out io.Writer, p Plain) error {
	var shown board
	var before client.State
	status := active
	for {
		var s client.State
		select {
		case next, open := <-p.States:
			if !open {
				return ended(ctx, before.Err)
			}
			s = next
		case next := <-p.Status:
			if next == status {
				continue
			}
			status = next
			if _, err := fmt.Fprintf(
				out,
				"%s  the board %s\n",
				time.Now().Format(time.TimeOnly),
				statusWords[status],
			); err != nil {
				return err
			}
			continue
		}
		var b strings.Builder
		now := time.Now()
		if s.Connection != before.Connection || s.Degraded != before.Degraded {
			fmt.Fprintf(&b, "%s  %s is %s", now.Format(time.TimeOnly), Printable(s.Board),
				connectionWords[s.Connection])
			if s.Degraded != "" {
				b.WriteString(", degraded: " + Printable(s.Degraded))
			}
			if s.Err != nil {
				b.WriteString(": " + Printable(p.Explain(s.Err)))
			}
			b.WriteByte('\n')
		}
		if s.Board != before.Board {
			shown.reset()
		}
		if s.Connection != client.Disconnected || len(s.Entries) > 0 {
			shown.writeLines(&b, s.Entries, now, now.Format(time.TimeOnly))
		}
		before = s
		if _, err := io.WriteString(out, b.String()); err != nil {
			return err
		}
	}
}

// writeLines writes a line for each change of a score; of the first rows, where they stand.
func (b *board) writeLines(to *strings.Builder, entries []client.Entry, now time.Time, stamp string) {
	begun := b.begun
	for _, c := range b.update(entries, now) {
		if text := c.text(); text != "" {
			fmt.Fprintf(to, "%s  %s\n", stamp, text)
		}
	}
	if begun {
		return
	}
	for _, e := range entries {
		fmt.Fprintf(to, "%s  %s is #%s with %s\n", stamp, name(e, false), grouped(e.Rank), scores(&e))
	}
}

// PlaybackLines writes a line for each change of a score in the past of a board, at its speed,
// until its end or that of ctx.
func PlaybackLines(ctx context.Context, out io.Writer, playback Playback) error {
	r := newReel(playback)
	var shown board
	due := time.Now() // of the first frame
	for {
		timeline, err := r.Load(ctx, r.next, r.To, r.Step())
		if err != nil {
			return ended(ctx, err)
		}
		r.add(&timeline)
		r.To = r.end
		for _, f := range r.frames {
			wait := time.NewTimer(time.Until(due.Add(time.Duration(float64(f.At.Sub(r.start)) / r.Speed))))
			select {
			case <-wait.C:
			case <-ctx.Done():
				wait.Stop()
				return nil
			}
			var b strings.Builder
			shown.writeLines(&b, f.Entries, f.At, f.At.UTC().Format(time.DateTime))
			if _, err := io.WriteString(out, b.String()); err != nil {
				return err
			}
		}
		if r.frames = nil; r.next.IsZero() {
			return nil
		}
	}
}

// text describes a change; it is empty for one that only follows from another.
func (c change) text() string {
	user := name(client.Entry{UserID: c.user, DisplayName: c.name}, false)
	switch {
	case c.left && c.among > 0:
		return fmt.Sprintf("%s left the top %d, was #%s", user, c.among, grouped(c.previousRank))
	case c.left:
		return fmt.Sprintf("%s left the board, was #%s", user, grouped(c.previousRank))
	case c.appeared:
		return fmt.Sprintf("%s is new at #%s with %s", user, grouped(c.rank), grouped(c.score))
	case !c.scoreMoved:
		return ""
	}
	text := fmt.Sprintf("%s %s to %s, ", user, signed(c.score-c.previousScore), grouped(c.score))
	if c.rank != c.previousRank {
		return text + fmt.Sprintf("#%s → #%s", grouped(c.previousRank), grouped(c.rank))
	}
	return text + fmt.Sprintf("still #%s", grouped(c.rank))
}
