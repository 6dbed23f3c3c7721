package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/scoreboard/scoreboard/client"
)

// order returns the users as drawn, by their first letters.
func order(s *screen) string {
	var b strings.Builder
	for _, r := range s.inMotion() {
		b.WriteString(r.UserID[:1])
	}
	return b.String()
}

func state(rows []client.Entry) stateMsg {
	return stateMsg{state: client.State{
		Board: "global", Version: 1, Connection: client.WebSocket, HeardAt: start, Entries: rows,
	}}
}

func TestRowsMoveToTheirPlaces(t *testing.T) {
	before := entries("a", 9, "b", 8, "c", 7, "d", 6, "e", 5)
	after := entries("e", 10, "a", 9, "b", 8, "c", 7, "d", 6)
	s := newScreen(t, 80, 24, plain)
	s.Update(state(before))
	s.Update(state(after))
	seen := []string{order(s)}
	for s.nextChange().Sub(s.clock) <= slideFrame {
		s.wait(s.nextChange().Sub(s.clock))
		if now := order(s); now != seen[len(seen)-1] {
			seen = append(seen, now)
		}
	}
	if len(seen) < 3 || seen[0] != "abcde" || seen[len(seen)-1] != "eabcd" {
		t.Errorf("drawn in the orders %v, want from abcde over others to eabcd", seen)
	}
	s = newScreen(t, 80, 24, plain)
	s.o.NoMotion = true
	s.Update(state(before))
	s.Update(state(after))
	if got := order(s); got != "eabcd" {
		t.Errorf("without motion: drawn as %s, want eabcd at once", got)
	}
}

// While two rows swap, the ranks on the screen rise from the top to the bottom.
func TestRanksStandStill(t *testing.T) {
	s := newScreen(t, 80, 24, plain)
	s.Update(state(entries("a", 9, "b", 8, "c", 7, "d", 6, "e", 5)))
	s.Update(state(entries("e", 10, "a", 9, "b", 8, "c", 7, "d", 6)))
	for range 5 {
		var ranks []string
		for _, line := range s.boardPane.rows(5, 78) {
			ranks = append(ranks, strings.Fields(ansi.Strip(line))[0])
		}
		if got := strings.Join(ranks, " "); got != "1 2 3 4 5" {
			t.Errorf("%v after the change the ranks are %s", s.clock.Sub(start), got)
		}
		s.wait(slideFrame)
	}
}

// A state in which many scores change is drawn once, and the next one is read later: no
// eye follows, and each frame costs on a slow connection.
func TestHecticBoardStandsStill(t *testing.T) {
	before, after := hundred(), hundred()
	for i := range 20 {
		after.Entries[i].Score += 10
	}
	after.Entries[0], after.Entries[1] = after.Entries[1], after.Entries[0]
	after.Entries[0].Rank, after.Entries[1].Rank = 1, 2
	s := newScreen(t, 120, 40, looks[1])
	s.Update(stateMsg{state: before})
	s.Update(stateMsg{state: after})
	if got := s.inMotion()[0].UserID; got != "user2." {
		t.Errorf("%s is drawn first, want user2. at once", got)
	}
	first := s.View()
	s.wait(fade - time.Millisecond)
	if s.View() != first {
		t.Error("the scores fade in steps")
	}
	began := time.Now()
	s.handle(s.handle(stateMsg{state: before})())
	if took := time.Since(began); took < hecticInterval {
		t.Errorf("read the next state after %v, want %v", took, hecticInterval)
	}
}

func TestScoreFades(t *testing.T) {
	s := newScreen(t, 120, 40, looks[1])
	s.Update(stateMsg{state: recorded()[0]})
	s.lacks("new", "▲")
	s.Update(stateMsg{state: recorded()[1]})
	s.contains("▲1", "▼1", "new", "+500")
	// The escape sequences before bob's score, from the change on.
	ink := func() string {
		line := strings.Split(s.View(), "\n")[3]
		at := strings.Index(line, "1,284,480")
		return line[strings.LastIndex(line[:at], " ")+1 : at]
	}
	s.wait(slide)
	var inks []string
	for range 10 {
		if now := ink(); len(inks) == 0 || now != inks[len(inks)-1] {
			inks = append(inks, now)
		}
		s.wait(fade / 8)
	}
	if len(inks) != fadeSteps+1 || inks[fadeSteps] != "" {
		t.Errorf("the score was drawn with %q, want %d steps and then the normal colour", inks, fadeSteps)
	}
	s.contains("▲1")
	s.wait(moveMark)
	s.lacks("▲1", "▼1", "+500")
	s.contains("bob takes the lead from alice") // stays in the activity

	s = newScreen(t, 120, 40, looks[1])
	s.o.NoMotion = true
	s.Update(stateMsg{state: recorded()[0]})
	s.Update(stateMsg{state: recorded()[1]})
	first := s.View()
	s.wait(fade - time.Millisecond)
	if s.View() != first {
		t.Error("without motion the score fades in steps")
	}
	s.wait(time.Millisecond)
	if s.View() == first {
		t.Error("without motion the highlight stays")
	}
}

// Every theme keeps the words; only one with colours has escape sequences.
func TestThemes(t *testing.T) {
	t.Parallel()
	for _, l := range looks {
		s := newScreen(t, 120, 40, l)
		busy(s)
		s.contains("alice", "1,284,112", "takes the lead")
		coloured := s.View() != ansi.Strip(s.View())
		if want := l.colours != termenv.Ascii; coloured != want {
			t.Errorf("%s: coloured %v, want %v", l.name, coloured, want)
		}
		if l.colours == termenv.ANSI && strings.Contains(s.View(), "38;2;") {
			t.Errorf("%s: has true colours", l.name)
		}
	}
}

// Yellow letters are not readable on white.
func TestNoYellowOnLight(t *testing.T) {
	s := newScreen(t, 120, 40, look{"", termenv.ANSI, false, false})
	busy(s)
	s.keys("p")
	if view := s.View(); strings.Contains(view, "\x1b[33m") || strings.Contains(view, "\x1b[1;33m") {
		t.Errorf("yellow letters: %q", view)
	}
}

func TestTrend(t *testing.T) {
	t.Parallel()
	th := newScreen(t, 80, 24, plain).theme
	var tr trend
	now := start
	for _, gain := range []int64{1, 8, -5, 4} {
		tr.add(gain, now)
		now = now.Add(trendSlot)
	}
	if got := tr.line(&th, now); got != "       ▁▇ ▄ " {
		t.Errorf("got %q", got)
	}
	if got := tr.line(&th, now.Add(time.Hour)); got != "" {
		t.Errorf("an hour later: got %q, want nothing", got)
	}
}
