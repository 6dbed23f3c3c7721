package tui

import (
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Limits above which a figure is highlighted, as in the alert rules.
const (
	maxOutboxDepth = 1000
	maxOutboxAge   = 5 * time.Second
	maxLag         = 1000
	maxBoardAge    = 5 * time.Second
)

// setStatus stores the server status. Once it was rejected, it is not read again.
func (m *model) setStatus(msg statusMsg) tea.Cmd {
	m.status = nil
	if msg.err == nil {
		m.status = msg.status
	} else if c := scoreboard.CodeOf(msg.err); c == scoreboard.CodeForbidden || c == scoreboard.CodeUnauthorized {
		return nil
	}
	return tea.Tick(statusInterval, func(time.Time) tea.Msg { return readStatusMsg{} })
}

// figure is one value of the panel.
type figure struct {
	text string
	bad  bool
}

// panel draws the server status, in as many lines as needed.
func (m *model) panel() []string {
	if !m.showStatus || m.status == nil {
		return nil
	}
	st := &m.style
	var lines []string
	line, width := "", 0
	for _, s := range figures(m.status) {
		text, w := Printable(s.text), ansi.StringWidth(s.text)
		if s.bad {
			text = st.problem.Render(text)
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

func figures(s *client.Status) (all []figure) {
	add := func(bad bool, format string, args ...any) {
		all = append(all, figure{fmt.Sprintf(format, args...), bad})
	}
	if s.IncrementsPerSecond != nil {
		add(false, "%s increments/s", grouped(int64(*s.IncrementsPerSecond+0.5)))
	}
	if s.LatencyP95MS != nil {
		add(false, "p95 %.1f ms", *s.LatencyP95MS)
	}
	if s.OutboxDepth != nil {
		add(*s.OutboxDepth > maxOutboxDepth, "outbox %s", grouped(*s.OutboxDepth))
	}
	if s.OutboxOldestAgeMS != nil {
		oldest := time.Duration(*s.OutboxOldestAgeMS) * time.Millisecond
		add(oldest > maxOutboxAge, "oldest %s", age(oldest))
	}
	if len(s.ConsumerLag) > 0 {
		var lag int64
		for _, n := range s.ConsumerLag {
			lag += n
		}
		add(lag > maxLag, "lag %s", grouped(lag))
	}
	if p := s.Parity; p != nil && p.Checked > 0 {
		add(p.Drifted > p.Repaired, "parity %s %%", percent(p.Percent))
	}
	if len(s.Connections) > 0 {
		var n int64
		for _, c := range s.Connections {
			n += c
		}
		add(false, "%s", plural(n, "connection"))
	}
	if b := s.Board; b != nil {
		state := strings.ToLower(strings.ReplaceAll(b.State, "_", " "))
		add(b.State != string(scoreboard.StateHealthy) || b.Suspect, "board %s", state)
		if b.AgeMS != nil {
			old := time.Duration(*b.AgeMS) * time.Millisecond
			add(old > maxBoardAge, "applied %s ago", age(old))
		}
	}
	for _, p := range s.Problems {
		add(true, "%s", p)
	}
	return all
}

// percent does not round up to 100.
func percent(p float64) string {
	if p == 100 {
		return "100"
	}
	return fmt.Sprintf("%.2f", min(p, 99.99))
}
