package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// What an operator should look at, as the alert rules have it.
const (
	deepOutbox = 1000
	oldOutbox  = 5 * time.Second
	longLag    = 1000
	oldBoard   = 5 * time.Second
)

// felt takes in how the server feels. Who may not ask is not an operator.
func (m *model) felt(msg statusMsg) tea.Cmd {
	switch {
	case msg.err == nil:
		m.status = msg.status
	case slices.Contains([]scoreboard.Code{scoreboard.CodeForbidden, scoreboard.CodeUnauthorized, scoreboard.CodeNotFound}, scoreboard.CodeOf(msg.err)):
		m.status = nil
		if scoreboard.CodeOf(msg.err) != scoreboard.CodeNotFound {
			return nil
		}
	default:
		m.status = nil
	}
	return tea.Tick(beat, func(time.Time) tea.Msg { return askStatusMsg{} })
}

// sign is one figure of the panel.
type sign struct {
	text string
	bad  bool
}

// panel draws how the server feels, in as many lines as the figures need.
func (m *model) panel() []string {
	if !m.pulse || m.status == nil {
		return nil
	}
	st := &m.style
	var lines []string
	line, width := "", 0
	for _, s := range signs(m.status) {
		text, w := Printable(s.text), ansi.StringWidth(s.text)
		if s.bad {
			text = st.trouble.Render(text)
		}
		between := st.between
		if width == 0 {
			between = ""
		}
		if width > 0 && width+ansi.StringWidth(between)+w > m.width {
			lines = append(lines, line)
			line, width, between = "", 0, ""
		}
		line += between + text
		width += ansi.StringWidth(between) + w
	}
	return append(lines, ansi.Truncate(line, m.width, st.more))
}

func signs(s *client.Status) (all []sign) {
	add := func(bad bool, format string, args ...any) { all = append(all, sign{fmt.Sprintf(format, args...), bad}) }
	if s.IncrementsPerSecond != nil {
		add(false, "%s increments/s", grouped(int64(*s.IncrementsPerSecond+0.5)))
	}
	if s.LatencyP95MS != nil {
		add(false, "p95 %.1f ms", *s.LatencyP95MS)
	}
	if s.OutboxDepth != nil {
		add(*s.OutboxDepth > deepOutbox, "outbox %s", grouped(*s.OutboxDepth))
	}
	if s.OutboxOldestAgeMS != nil {
		oldest := time.Duration(*s.OutboxOldestAgeMS) * time.Millisecond
		add(oldest > oldOutbox, "oldest %s", age(oldest))
	}
	if len(s.ConsumerLag) > 0 {
		var lag int64
		for _, n := range s.ConsumerLag {
			lag += n
		}
		add(lag > longLag, "lag %s", grouped(lag))
	}
	if p := s.Parity; p != nil && p.Checked > 0 {
		add(p.Drifted > p.Repaired, "parity %s %%", percent(p.Percent))
	}
	if len(s.Connections) > 0 {
		var n int64
		for _, c := range s.Connections {
			n += c
		}
		add(false, "%s", plural(int(n), "connection"))
	}
	if b := s.Board; b != nil {
		state := strings.ToLower(strings.ReplaceAll(b.State, "_", " "))
		add(b.State != string(scoreboard.StateHealthy) || b.Suspect, "board %s", state)
		if b.AgeMS != nil {
			old := time.Duration(*b.AgeMS) * time.Millisecond
			add(old > oldBoard, "applied %s ago", age(old))
		}
	}
	for _, p := range s.Problems {
		add(true, "%s", p)
	}
	return all
}

// percent never rounds up to a hundred.
func percent(p float64) string {
	if p == 100 {
		return "100"
	}
	return fmt.Sprintf("%.2f", min(p, 99.99))
}
