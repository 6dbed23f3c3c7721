package tui

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
)

func TestHighlightsFade(t *testing.T) {
	s := newScreen(t, 100, 30, termenv.ANSI, false)
	s.Update(stateMsg{state: recorded()[0]})
	s.lacks("new", "▲")
	plain := s.View()
	s.Update(stateMsg{state: recorded()[1]})
	s.contains("▲1", "▼1", "new", "+500")
	if s.View() == ansi.Strip(s.View()) || !strings.Contains(s.View(), "\x1b[30;43m") {
		t.Errorf("a changed score does not flash: %q", s.View())
	}
	if strings.Contains(plain, "\x1b[30;43m") {
		t.Error("an unchanged score flashes")
	}
	s.keys("p")
	if view := s.View(); strings.Contains(view, "\x1b[33m") || !strings.Contains(view, "\x1b[30;43mpaused") {
		t.Errorf("yellow letters, which are not readable on white: %q", view)
	}
	s.keys("p")
	s.clock = s.clock.Add(fade)
	s.Update(tickMsg{})
	s.lacks("▲1", "▼1")
	s.contains("bob +500 to 1,284,480") // stays in the feed
	s.keys("e")
	s.lacks("+500")
}

func TestTrend(t *testing.T) {
	t.Parallel()
	st := newStyle(lipgloss.NewRenderer(io.Discard), false)
	var tr trend
	now := start
	for _, gain := range []int64{1, 8, -5, 4} {
		tr.add(gain, now)
		now = now.Add(trendSlot)
	}
	if got := tr.line(&st, now); got != "       ▁█ ▄ " {
		t.Errorf("got %q", got)
	}
	if got := tr.line(&st, now.Add(time.Hour)); got != "" {
		t.Errorf("an hour later: got %q, want nothing", got)
	}
}
