package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestPauseKeepsTheScreen(t *testing.T) {
	s := newScreen(t, 100, 30, termenv.Ascii, false)
	s.Update(stateMsg{state: recorded()[0]})
	s.keys("p")
	s.Update(stateMsg{state: recorded()[1]})
	s.contains("paused", "v1041")
	s.lacks("carol")
	s.keys("p")
	s.contains("v1042", "carol")
	s.lacks("paused")
}

func TestSearch(t *testing.T) {
	requested := ""
	s := newScreen(t, 100, 30, termenv.Ascii, false)
	s.o.Find = func(_ context.Context, _, user string, k int) (client.Place, error) {
		requested = fmt.Sprint(user, k)
		if user == "nobody" {
			return client.Place{}, errors.New("the user has no score on this board")
		}
		above := []client.Entry{{Rank: 11, UserID: "above", Score: 2}}
		return client.Place{UserID: user, Rank: 12, Total: 13, Score: 1, Neighbours: above}, nil
	}
	s.Update(stateMsg{state: recorded()[0]})
	search := func(user string) {
		s.keys("/")
		for _, letter := range user {
			s.keys(string(letter))
		}
		s.contains("search: " + user)
		_, cmd := s.Update(tea.KeyMsg{Type: tea.KeyEnter})
		s.Update(cmd())
	}
	search("zoeq?p")
	if requested != "zoeq?p2" {
		t.Errorf("searched for %q, want the letters typed and 2 neighbours: keys must not act while typing", requested)
	}
	s.contains("zoeq?p is 12th of 13", "above")
	s.keys("esc", "/alice") // in one piece
	s.contains("search: alice")
	s.keys("esc")
	search("nobody")
	s.contains("the user has no score on this board")
	s.keys("esc")
	s.lacks("no score", "search:")
}

func TestSearchInput(t *testing.T) {
	s := newScreen(t, 40, 12, termenv.Ascii, false)
	s.Update(stateMsg{state: recorded()[0]})
	s.keys("/", "bcd", "backspace", "space", "\u202e", "home", "a")
	if got := s.search.Value(); got != "abc" {
		t.Errorf("got %q, want abc: home moves the cursor; spaces and control characters are not typed", got)
	}
	s.contains("search: a▏bc")
	if _, cmd := s.Update(tea.KeyMsg{Type: tea.KeyCtrlV}); cmd != nil {
		t.Error("ctrl+v started a command; want none, which would read the clipboard with a program")
	}
	s.keys("ctrl+u")
	for range 2 * scoreboard.MaxUserIDLength {
		s.keys("x")
	}
	s.keys("y")
	if got := len(s.search.Value()); got != scoreboard.MaxUserIDLength {
		t.Errorf("%d characters accepted, want %d", got, scoreboard.MaxUserIDLength)
	}
	s.contains("x▏") // the cursor stays on a screen that is too narrow for the text
	s.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	s.contains("x▏bc")
	s.Update(tea.WindowSizeMsg{Width: 40, Height: 12})
	s.contains("x▏")
}

func TestPointsAreCounted(t *testing.T) {
	for score, want := range map[int64]string{1: "1 point", 0: "0 points", 1200: "1,200 points", -1: "-1 points"} {
		place := client.Place{UserID: "zoe", Rank: 1, Total: 2, Score: score}
		if got := placeLine(&place); got != "zoe is 1st of 2, "+want {
			t.Errorf("score %d: got %q, want it to end in %q", score, got, want)
		}
	}
}

func TestPeriodChangeIsNoMovement(t *testing.T) {
	s := newScreen(t, 100, 30, termenv.Ascii, false)
	today := recorded()[0]
	s.Update(stateMsg{state: today})
	tomorrow := recorded()[1]
	tomorrow.Board = "daily:2026-11-22"
	s.Update(stateMsg{state: tomorrow})
	s.lacks("▲", "new")
}

// Switching boards starts a new watch; states of the old one are dropped.
func TestSwitchingBoards(t *testing.T) {
	watched := make(map[string]context.Context)
	channels := make(map[string]chan client.State)
	s := newScreen(t, 100, 30, termenv.Ascii, false)
	s.o.Watch = func(ctx context.Context, board string) <-chan client.State {
		watched[board], channels[board] = ctx, make(chan client.State, 1)
		return channels[board]
	}
	families := make([]string, 0, 2)
	s.o.Boards = func(_ context.Context, family string) ([]client.Board, error) {
		families = append(families, family)
		if family == "" {
			return []client.Board{{Board: "daily"}, {Board: "daily:2026-11-20"}, {Board: "global"}}, nil
		}
		return []client.Board{{Board: family}, {Board: family + ":2026-11-20"}, {Board: family + ":2026-11-21"}}, nil
	}
	open := func(key string) {
		t.Helper()
		_, cmd := s.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(key)})
		s.Update(cmd())
	}
	first := s.watch("global")
	channels["global"] <- recorded()[0]
	s.Update(first())
	s.contains("global v1041", "alice")

	open("b")
	s.contains("boards", "daily", "global")
	s.lacks("daily:2026-11-20")
	late := s.listen()
	s.keys("k", "enter")
	if watched["global"].Err() == nil || watched["daily"] == nil || watched["daily"].Err() != nil {
		t.Fatalf("after the choice: watched %v, want daily alone", watched)
	}
	channels["global"] <- recorded()[1]
	s.Update(late())
	s.lacks("alice", "v1042")
	close(channels["global"])
	if s.Update(endedMsg{generation: 1}); s.ended {
		t.Error("the end of the first watch ended the screen")
	}
	today := recorded()[1]
	today.Board = "daily:2026-11-21"
	s.Update(stateMsg{s.generation, today})
	s.contains("daily:2026-11-21 v1042", "carol")

	open("t")
	s.contains("periods of daily", "daily:2026-11-20")
	s.keys("j", "j", "enter")
	if watched["daily:2026-11-20"] == nil || families[1] != "daily" {
		t.Errorf("watched %v after listing the periods of %q", watched, families)
	}
	s.stop()
}

func TestNeighboursAndCopy(t *testing.T) {
	s := newScreen(t, 100, 30, termenv.Ascii, false)
	requested, copied := -1, ""
	s.o.Find = func(_ context.Context, _, user string, k int) (client.Place, error) {
		requested = k
		return client.Place{UserID: user, Rank: 12, Total: 13, Score: 1}, nil
	}
	s.o.Copy = func(text string) error { copied = text; return nil }
	s.Update(stateMsg{state: recorded()[0]})
	_, cmd := s.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("y")})
	s.Update(cmd())
	if !strings.HasPrefix(copied, "1\talice\t1284112\n2\tbob\t") {
		t.Errorf("copied %q, want the board", copied)
	}
	s.contains("copied")
	s.Update(foundMsg{user: "zoe", place: client.Place{UserID: "zoe", Rank: 12, Total: 13, Score: 1}})
	_, cmd = s.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("+")})
	s.Update(cmd())
	if requested != defaultNeighbours+1 {
		t.Errorf("requested %d neighbours after +, want %d", requested, defaultNeighbours+1)
	}
	for range 2 * maxNeighbours {
		s.keys("-")
	}
	if s.neighbours != 0 {
		t.Errorf("neighbours: got %d, want 0", s.neighbours)
	}
}

// A user without the operator scope gets no panel, and the status is not read again;
// after other errors it is.
func TestStatusPanelIsForOperators(t *testing.T) {
	s := newScreen(t, 100, 30, termenv.Ascii, false)
	s.Update(stateMsg{state: recorded()[0]})
	if cmd := s.setStatus(statusMsg{status: failingStatus()}); cmd == nil {
		t.Error("after a success: not read again")
	}
	s.contains("outbox 4,200", "lag 20", "Kafka does not answer")
	s.keys("o")
	s.lacks("outbox")
	s.keys("o")
	if cmd := s.setStatus(statusMsg{err: errors.New("unavailable")}); cmd == nil {
		t.Error("after a failure: not read again")
	}
	s.lacks("outbox") // outdated figures are not shown
	if cmd := s.setStatus(statusMsg{err: scoreboard.Errorf(scoreboard.CodeForbidden, "no")}); cmd != nil {
		t.Error("after a refusal: read again")
	}
}
