package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestPauseKeepsTheScreen(t *testing.T) {
	s := newScreen(t, 100, 30, plain)
	s.Update(stateMsg{state: recorded()[0]})
	s.keys("p")
	s.Update(stateMsg{state: recorded()[1]})
	s.contains(" paused ")
	s.lacks("carol")
	s.keys("p")
	s.contains("carol")
	s.lacks("paused")
}

// Every row of a long board can be reached at any size, by row, page, start and end.
func TestCursorReachesEveryRow(t *testing.T) {
	for _, size := range sizes {
		s := newScreen(t, size[0], size[1], plain)
		s.Update(stateMsg{state: hundred()})
		s.contains("user1.", "↑↓ select", "q quit")
		s.lacks("user99.")
		s.keys("down")
		if s.selected != "user1." {
			t.Errorf("after the first move: %q selected, want the first row", s.selected)
		}
		s.keys("up", "pgup")
		s.contains("user1.")
		s.keys("pgdown")
		s.contains(fmt.Sprintf("user%d.", s.room+1))
		s.lacks("user1.")
		for range 100 {
			s.keys("j")
		}
		s.contains("user100.")
		s.keys("g")
		s.contains("user1.")
		s.keys("G")
		s.contains("user100.")
		s.keys("home")
		s.contains("user1.")
		s.keys("end")
		s.contains("user100.")
		s.Update(stateMsg{state: recorded()[0]}) // a short one: the cursor stays on a row
		s.contains("alice", "judy")
		if _, on := s.selectedEntry(); !on {
			t.Error("no row is selected")
		}
	}
}

// The cursor follows its user, so that enter opens the user that was chosen.
func TestCursorFollowsTheUser(t *testing.T) {
	s := newScreen(t, 80, 24, plain)
	s.Update(stateMsg{state: recorded()[0]})
	s.keys("down", "down") // bob, second
	s.Update(stateMsg{state: recorded()[1]})
	if e, _ := s.selectedEntry(); e.UserID != "bob" || e.Rank != 1 {
		t.Errorf("got %+v, want bob, now first", e)
	}
	gone := recorded()[1]
	gone.Entries = gone.Entries[1:]
	s.Update(stateMsg{state: gone})
	if e, _ := s.selectedEntry(); e.UserID != "alice" {
		t.Errorf("got %+v, want alice, at bob's place", e)
	}
	s.keys("esc")
	if _, on := s.selectedEntry(); on {
		t.Error("esc keeps the cursor")
	}
}

func TestFind(t *testing.T) {
	requested := ""
	s := newScreen(t, 100, 30, plain)
	s.o.Find = func(_ context.Context, _, user string, _ int) (client.Place, error) {
		requested = user
		if user == "nobody" {
			return client.Place{}, errors.New("the user has no score on this board")
		}
		return client.Place{UserID: user, Rank: 12, Total: 13, Score: 1}, nil
	}
	s.o.Statement = func(context.Context, string, string) (client.Statement, error) { return client.Statement{}, nil }
	s.Update(stateMsg{state: recorded()[0]})
	find := func(typed, want string) {
		t.Helper()
		s.keys("/")
		for _, letter := range typed {
			s.keys(string(letter))
		}
		s.contains("find: " + typed)
		s.run(s.keys("enter"))
		if requested != want {
			t.Errorf("found %q for %q, want %q", requested, typed, want)
		}
	}
	find("zoeq?p", "zoeq?p") // keys must not act while typing
	s.contains("zoeq?p", "#12 of 13")
	s.keys("esc")
	find("EID", "heidi") // a part of an id on the board
	s.keys("esc")
	if s.selected != "heidi" {
		t.Errorf("%q selected, want heidi", s.selected)
	}
	find("さくら", "kenji") // a part of a name
	s.keys("esc")
	find("nobody", "nobody")
	s.contains("the user has no score on this board")
	s.keys("esc")
	s.keys("/alice", "esc") // in one piece
	s.lacks("find: alice")
}

func TestFindInput(t *testing.T) {
	s := newScreen(t, 40, 12, plain)
	s.Update(stateMsg{state: recorded()[0]})
	s.keys("/", "bcd", "backspace", "\u202e", "home", "a")
	if got := s.search.Value(); got != "abc" {
		t.Errorf("got %q, want abc: home moves the cursor; control characters are not typed", got)
	}
	s.contains("find: a▏bc")
	if cmd := s.handle(tea.KeyMsg{Type: tea.KeyCtrlV}); cmd != nil {
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
	s.contains("x▏")
}

func TestJumpToMe(t *testing.T) {
	s := newScreen(t, 80, 24, plain)
	s.Update(stateMsg{state: hundred()})
	s.keys("m")
	s.contains("you are not on this board")
	s.Update(meMsg{place: &client.Place{UserID: "user77.", Rank: 77, Total: 100, Score: 924}})
	s.keys("m")
	s.contains("user77. (you)")
	if s.selected != "user77." {
		t.Errorf("%q selected, want user77.", s.selected)
	}
	s.Update(meMsg{place: &client.Place{UserID: "mallory", Rank: 4711, Total: 10_000, Score: 12}})
	s.keys("m")
	if s.player == nil || s.player.user != "mallory" {
		t.Error("the page of mallory, who is not on the screen, is not open")
	}
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
	s := newScreen(t, 100, 30, plain)
	today := recorded()[0]
	s.Update(stateMsg{state: today})
	tomorrow := recorded()[1]
	tomorrow.Board = "daily:2026-11-22"
	s.Update(stateMsg{state: tomorrow})
	s.lacks("▲", "new")
}

// Switching boards starts a new watch; states of the old one are dropped. The list shows
// the top of the selected board.
func TestSwitchingBoards(t *testing.T) {
	watched := make(map[string]context.Context)
	channels := make(map[string]chan client.State)
	s := newScreen(t, 100, 30, plain)
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
		return []client.Board{
			{Board: family},
			{Board: family + ":2026-11-20", Status: Ended, PeriodEnd: &start},
			{Board: family + ":2026-11-21"},
		}, nil
	}
	s.o.Top = func(_ context.Context, board string, _ int) (client.Top, error) {
		return client.Top{Board: board, Entries: entries("first-of-"+board, 7)}, nil
	}
	s.watch("global")
	first := s.listen()
	channels["global"] <- recorded()[0]
	s.Update(first())
	s.contains("global", "alice")

	s.run(s.keys("b"))
	s.contains("boards", "daily", "loading")
	s.lacks("daily:2026-11-20")
	s.run(s.readPreview("global"))
	s.contains("first-of-global")
	late := s.listen()
	s.keys("k")
	s.lacks("first-of-global")
	if cmd := s.readPreview("global"); cmd != nil {
		t.Error("reads the preview of a board that is not selected any more")
	}
	s.run(s.readPreview("daily"))
	s.contains("first-of-daily")
	s.keys("enter")
	if watched["global"].Err() == nil || watched["daily"] == nil || watched["daily"].Err() != nil {
		t.Fatalf("after the choice: watched %v, want daily alone", watched)
	}
	channels["global"] <- recorded()[1]
	s.Update(late())
	s.lacks("alice", "carol")
	close(channels["global"])
	if s.Update(endedMsg{generation: 1}); s.ended {
		t.Error("the end of the first watch ended the screen")
	}
	today := recorded()[1]
	today.Board = "daily:2026-11-21"
	s.Update(stateMsg{s.generation, today})
	s.contains("daily · 2026-11-21", "carol")

	s.run(s.keys("t"))
	s.contains("periods of daily", "current period", "2026-11-20", "ended 21 Nov 2026")
	s.keys("j", "j", "enter")
	if watched["daily:2026-11-20"] == nil || families[1] != "daily" {
		t.Errorf("watched %v after listing the periods of %q", watched, families)
	}
	s.stop()
}

// The stream of a busy board is read a few times a second; its channel holds the latest.
func TestBusyBoardIsReadSlowly(t *testing.T) {
	states := make(chan client.State, 1)
	s := newScreen(t, 80, 24, plain)
	s.o.Watch = func(context.Context, string) <-chan client.State { return states }
	s.watch("global")
	defer s.stop()
	began := time.Now()
	next := s.listen()
	for i := range 3 {
		f := recorded()[i%2]
		states <- f
		again := s.handle(next())
		if again == nil {
			t.Fatal("not read again")
		}
		next = s.handle(again())
	}
	if took := time.Since(began); took < 3*stateInterval {
		t.Errorf("read three states in %v, want at least %v", took, 3*stateInterval)
	}
}

func TestCopy(t *testing.T) {
	s := newScreen(t, 100, 30, plain)
	copied := ""
	s.o.Copy = func(text string) error { copied = text; return nil }
	s.Update(stateMsg{state: recorded()[0]})
	s.run(s.keys("y"))
	if !strings.HasPrefix(copied, "1\talice\t1284112\n2\tbob\t") {
		t.Errorf("copied %q, want the board", copied)
	}
	s.contains("copied")
	openBob(s)
	s.run(s.keys("y"))
	if copied != "bob is 1st of 10,000, 1,284,480 points" {
		t.Errorf("copied %q, want bob's standing", copied)
	}
}

// The help is grouped, with the keys of the current page first.
func TestHelpIsGrouped(t *testing.T) {
	s := newScreen(t, 120, 40, plain)
	s.Update(stateMsg{state: recorded()[0]})
	if g := s.helpGroups(); g[0].title != "board" {
		t.Errorf("first group: %q, want board", g[0].title)
	}
	openBob(s)
	s.keys("?")
	s.contains("help", "player's page", "everywhere", "operators", "symbols")
	if g := s.helpGroups(); g[0].title != "player's page" {
		t.Errorf("first group: %q, want the player's page", g[0].title)
	}
	s.keys("esc")
	s.lacks("everywhere")
	s.contains("bob")
}

// A user without the operator scope gets no panel, and the status is not read again;
// after other errors it is.
func TestHealthIsForOperators(t *testing.T) {
	s := newScreen(t, 120, 40, plain)
	s.Update(stateMsg{state: recorded()[0]})
	if cmd := s.setStatus(statusMsg{status: failingStatus()}); cmd == nil {
		t.Error("after a success: not read again")
	}
	s.contains("outbox", "4,200", "over 1,000", "20 behind", "Kafka does not answer", "1 difference")
	s.keys("o")
	s.lacks("outbox")
	s.keys("o")
	if cmd := s.setStatus(statusMsg{err: errors.New("unavailable")}); cmd == nil {
		t.Error("after a failure: not read again")
	}
	s.wait(12 * time.Second)
	s.contains("outbox", "no answer; as of 12 s ago") // outdated figures say so
	if cmd := s.setStatus(statusMsg{err: scoreboard.Errorf(wire.CodeForbidden, "no")}); cmd != nil {
		t.Error("after a refusal: read again")
	}
	s.lacks("outbox")
}

// On a narrow screen one line says what is wrong.
func TestHealthLine(t *testing.T) {
	s := newScreen(t, 80, 24, plain)
	s.Update(stateMsg{state: recorded()[0]})
	s.Update(statusMsg{status: healthyStatus(40)})
	s.contains("healthy · writes 40/s")
	s.Update(statusMsg{status: failingStatus()})
	s.contains("outbox 4,200, 7.3 s: over 1,000")
	s.lacks("healthy · writes")
}

// Without an answer the figures that are left are not shown as good.
func TestHealthWithoutAnAnswer(t *testing.T) {
	for name, c := range map[string]struct{ width, height int }{"a line": {80, 24}, "a panel": {120, 40}} {
		s := newScreen(t, c.width, c.height, look{colours: termenv.TrueColor, dark: true})
		s.Update(stateMsg{state: recorded()[0]})
		s.Update(statusMsg{status: healthyStatus(40)})
		if s.contains("writes"); s.outdated() != "" {
			t.Errorf("%s: %q while the status is current", name, s.outdated())
		}
		drawn := func() string {
			if c.width < 100 {
				return s.healthLine(c.width)
			}
			return strings.Join(s.healthPanel(40), "\n")
		}
		good := s.theme.good.paint("ok")
		if c.width < 100 {
			good = s.theme.good.paint("healthy")
		}
		if !strings.Contains(drawn(), good) {
			t.Errorf("%s: %q is not good at first", name, drawn())
		}
		s.wait(10 * time.Second) // no answer and no error: the request hangs
		s.contains("no answer; as of 10 s ago")
		if strings.Contains(drawn(), good) {
			t.Errorf("%s: %q is good without an answer", name, drawn())
		}
	}
}

func TestGapKeepsAllDigits(t *testing.T) {
	for _, width := range []int{80, 100, 160} {
		s := newScreen(t, width, 30, plain)
		s.Update(state(entries("ann", 9_497_058, "bo", -9_497_058)))
		s.contains("-18,994,116")
	}
}

// The error of a failed request disappears when the server is back, or after a while.
func TestErrorClears(t *testing.T) {
	s := newScreen(t, 100, 30, plain)
	frames := recorded()
	s.Update(stateMsg{state: frames[2]})
	s.contains("connection reset by peer; reconnecting")
	s.Update(boardsMsg{err: errors.New("the server does not answer")})
	s.contains("the server does not answer")
	s.Update(stateMsg{state: frames[2]})
	s.contains("the server does not answer")
	s.Update(stateMsg{state: frames[1]})
	s.lacks("does not answer", "reconnecting")
	s.Update(boardsMsg{err: errors.New("the server does not answer")})
	s.wait(toastFor)
	s.lacks("does not answer")
}

// The answer of the terminal arrives as keys, which do nothing else.
func TestTerminalAnswersItsBackground(t *testing.T) {
	s := newScreen(t, 100, 30, looks[1])
	s.Update(stateMsg{state: recorded()[0]})
	answer := func(colour string) {
		s.handle(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("]"), Alt: true})
		s.keys("11;rgb:" + colour)
		s.handle(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(`\`), Alt: true})
	}
	answer("fafa/fafa/bbbb") // has the keys a and b
	if s.theme.dark {
		t.Error("dark, want light")
	}
	answer("1e1e/1e1e/2e2e")
	if !s.theme.dark {
		t.Error("light, want dark")
	}
	if s.chooser != nil || s.menu != nil || s.toast != "" {
		t.Error("the answer was taken for keys")
	}
	s.handle(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("]"), Alt: true}) // of a user
	s.wait(2 * answerTimeout)
	s.keys("p")
	s.contains(" paused ")
	for value, dark := range map[string]bool{
		"": true, "15;0": true, "0;15": false, "0;default;7": false, "12;8": true,
	} {
		if got := darkByEnvironment(value); got != dark {
			t.Errorf("COLORFGBG=%s: dark %v, want %v", value, got, dark)
		}
	}
}
