package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/scoreboard/scoreboard/client"
)

// climb is a day in which bob rises from #24 to #1, without a rank at first and once between.
func climb() client.RankHistory {
	h := client.RankHistory{Board: "global", UserID: "bob", BestRank: 1}
	for i := range 25 {
		p := client.RankPoint{At: start.Add(time.Duration(i-24) * time.Hour), Total: 40}
		if i > 2 && i != 12 {
			p.Rank, p.Score = new(int64(25-i)), new(int64(100*i))
		}
		h.Points = append(h.Points, p)
	}
	return h
}

// A player's last day is read once in a while, not at each refresh, and without it the page shows
// the ranks of the watch.
func TestPlayersLastDay(t *testing.T) {
	t.Parallel()
	s := newScreen(t, 120, 40, plain)
	requests := 0
	var err error
	s.o.History = func(context.Context, string, string) (client.RankHistory, error) {
		requests++
		return climb(), err
	}
	open := func() {
		t.Helper()
		busy(s)
		openBob(s)
		if cmd := s.readDay("bob"); cmd != nil {
			t.Error("a second request is made")
		}
	}
	open()
	if strings.Contains(s.View(), "last day") {
		t.Errorf("the last day is shown before it is read:\n%s", s.View())
	}
	delete(s.days, dayKey(s.watching, "bob")) // openBob does not run its commands
	s.Update(s.readDay("bob")())
	if !strings.Contains(s.View(), "rank over the last day") || !strings.Contains(s.View(), "#22 ") {
		t.Errorf("the last day is not shown:\n%s", s.View())
	}
	s.keys("esc")
	open()
	s.clock = s.clock.Add(dayTTL)
	err = errors.New("the events are archived")
	s.Update(s.readDay("bob")())
	if !strings.Contains(s.View(), "while watching") || requests != 2 {
		t.Errorf("after %d requests and an error, want the ranks of the watch:\n%s", requests, s.View())
	}
	for i := range 3 * maxDays {
		s.readDay(fmt.Sprint("user-", i))
	}
	if len(s.days) > maxDays {
		t.Errorf("%d days are kept, want at most %d", len(s.days), maxDays)
	}
}

// The last day is a line on a page without room for charts, and a chart on others; without ranks
// there is neither.
func TestGoldenLastDay(t *testing.T) {
	for _, l := range []look{plain, {"ascii", termenv.Ascii, true, true}} {
		for _, size := range [][2]int{{80, 24}, {100, 30}, {120, 40}} {
			s := newScreen(t, size[0], size[1], l)
			busy(s)
			openBob(s)
			s.days = map[string]day{dayKey(s.watching, "bob"): {readAt: s.clock}}
			s.Update(dayMsg{board: s.watching, user: "bob", history: climb()})
			fits(t, s)
			view := s.View()
			if l.ascii != isASCII(ansi.Strip(view)) {
				t.Errorf("%s: the screen is ASCII: %v", l.name, !l.ascii)
			}
			name := fmt.Sprintf("testdata/screens/day_%s_%dx%d.txt", l.name, size[0], size[1])
			compare(t, name, folded(view))
		}
	}
}

// A rank that never changes is a line, not a bar of full blocks.
func TestSteadyRankIsALine(t *testing.T) {
	s := newScreen(t, 80, 24, plain)
	busy(s)
	openBob(s)
	s.player.place = nil
	steady := client.RankHistory{BestRank: 2}
	for i := range 6 {
		p := client.RankPoint{At: start.Add(time.Duration(i) * time.Hour), Total: 40}
		if i > 1 {
			p.Rank, p.Score = new(int64(2)), new(int64(5))
		}
		steady.Points = append(steady.Points, p)
	}
	s.days = map[string]day{dayKey(s.watching, "bob"): {readAt: s.clock}}
	s.Update(dayMsg{board: s.watching, user: "bob", history: steady})
	if got, want := ansi.Strip(s.dayLine(78)), "last day   ────  #2 → #2, best #2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
