package tui

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
	"go.uber.org/goleak"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

var update = flag.Bool("update", false, "rewrite the golden screens")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// screen is a model without a terminal, at a moment of its own.
type screen struct {
	*model
	t     *testing.T
	clock time.Time
}

func newScreen(t *testing.T, width, height int, colours termenv.Profile, ascii bool) *screen {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(colours)
	s := &screen{t: t, clock: start}
	s.model = newModel(t.Context(), Options{}, newStyle(r, ascii))
	s.model.now = func() time.Time { return s.clock }
	s.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return s
}

func (s *screen) keys(keys ...string) {
	named := map[string]tea.KeyType{
		"enter": tea.KeyEnter, "esc": tea.KeyEsc, "backspace": tea.KeyBackspace,
		"up": tea.KeyUp, "down": tea.KeyDown, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
	}
	for _, k := range keys {
		if special, ok := named[k]; ok {
			s.Update(tea.KeyMsg{Type: special})
			continue
		}
		s.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)})
	}
}

func (s *screen) contains(want ...string) {
	s.t.Helper()
	view := ansi.Strip(s.View())
	for _, w := range want {
		if !strings.Contains(view, w) {
			s.t.Errorf("the screen has no %q:\n%s", w, view)
		}
	}
}

func (s *screen) lacks(unwanted ...string) {
	s.t.Helper()
	view := ansi.Strip(s.View())
	for _, u := range unwanted {
		if strings.Contains(view, u) {
			s.t.Errorf("the screen has %q:\n%s", u, view)
		}
	}
}

// recorded are frames of a board that was watched: a first state, then bob
// overtakes, carol arrives, and the connection breaks.
func recorded() []client.State {
	entries := func(pairs ...any) (all []client.Entry) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, client.Entry{Rank: int64(i/2 + 1), UserID: pairs[i].(string), Score: int64(pairs[i+1].(int))})
		}
		return all
	}
	names := func(all []client.Entry) []client.Entry {
		for i := range all {
			switch all[i].UserID {
			case "kenji":
				all[i].DisplayName = "健二さくら🎮"
			case "dalia":
				all[i].DisplayName = "داليا"
			case "evil":
				all[i].DisplayName = "\x1b[31mred\u202e\n"
			}
		}
		return all
	}
	first := names(entries("alice", 1_284_112, "bob", 1_283_980, "kenji", 998_001, "dalia", 870_500, "evil", 655_360,
		"frank.of.the-very.long:name@example.org", 512_000, "grace", 400_123, "heidi", 99_999, "ivan", 1_024, "judy", 7))
	second := names(entries("bob", 1_284_480, "alice", 1_284_112, "kenji", 998_001, "dalia", 870_500, "evil", 655_360,
		"frank.of.the-very.long:name@example.org", 512_000, "grace", 400_123, "heidi", 99_999, "carol", 2_500, "ivan", 1_024))
	state := client.State{Board: "global", Epoch: 3, Version: 1041, Entries: first, HeardAt: start, Connection: client.WebSocket}
	moved := state
	moved.Version, moved.Entries, moved.HeardAt = 1042, second, start.Add(400*time.Millisecond)
	away := moved
	away.Connection, away.Reconnects, away.Err = client.Disconnected, 1, errors.New("read the stream: connection reset by peer")
	return []client.State{state, moved, away}
}

// felt is a server in trouble.
func felt() *client.Status {
	rate, p95, depth, oldest, behind := 1234.4, 8.25, int64(4200), int64(7300), int64(900)
	return &client.Status{
		IncrementsPerSecond: &rate, LatencyP95MS: &p95, OutboxDepth: &depth, OutboxOldestAgeMS: &oldest,
		ConsumerLag: map[string]int64{"score-events": 17, "score-increments.v1": 3}, Connections: map[string]int64{"websocket": 1200, "sse": 34},
		Parity: &protocol.Parity{Checked: 100_000, Drifted: 1, Percent: 99.999}, Board: &client.Condition{State: "CATCHING_UP", AgeMS: &behind},
		Problems: []string{"Kafka does not answer"},
	}
}

var sizes = [][2]int{{40, 12}, {100, 30}, {200, 60}}

func TestGoldenScreens(t *testing.T) {
	scenes := []struct {
		name string
		play func(*screen)
	}{
		{"first", func(s *screen) { s.Update(stateMsg{state: recorded()[0]}) }},
		{"moved", func(s *screen) {
			for _, frame := range recorded()[:2] {
				s.Update(stateMsg{state: frame})
			}
			s.Update(meMsg{place: &client.Place{UserID: "mallory", Rank: 4711, Total: 10_000, Score: 12}})
			s.clock = s.clock.Add(600 * time.Millisecond)
		}},
		{"away", func(s *screen) {
			for _, frame := range recorded() {
				s.Update(stateMsg{state: frame})
			}
			s.clock = s.clock.Add(42 * time.Second)
		}},
		{"found", func(s *screen) {
			s.Update(stateMsg{state: recorded()[0]})
			s.Update(foundMsg{user: "zoe", place: client.Place{UserID: "zoe", Rank: 8123, Total: 10_000, Score: 3, Neighbours: []client.Entry{
				{Rank: 8122, UserID: "yuri", Score: 4}, {Rank: 8123, UserID: "zoe", Score: 3}, {Rank: 8124, UserID: "zack", Score: 3},
			}}})
		}},
		{"operator", func(s *screen) {
			for i, frame := range recorded()[:2] {
				s.clock = start.Add(time.Duration(i) * 7 * time.Second)
				s.Update(stateMsg{state: frame})
			}
			s.Update(meMsg{place: &client.Place{UserID: "mallory", Rank: 4711, Total: 10_000, Score: 12, Neighbours: []client.Entry{
				{Rank: 4710, UserID: "lena", Score: 13}, {Rank: 4711, UserID: "mallory", Score: 12}, {Rank: 4712, UserID: "nina", Score: 12},
			}}})
			s.Update(statusMsg{status: felt()})
		}},
		{"boards", func(s *screen) {
			s.Update(stateMsg{state: recorded()[0]})
			s.Update(boardsMsg{boards: []client.Board{{Board: "daily"}, {Board: "daily:2026-11-21"}, {Board: "global"}, {Board: "season.winter"}}})
			s.keys("j")
		}},
		{"help", func(s *screen) { s.Update(stateMsg{state: recorded()[0]}); s.keys("?") }},
		{"long", func(s *screen) { s.Update(stateMsg{state: hundred()}); s.View(); s.keys("pgdown", "down") }},
		{"empty", func(*screen) {}},
	}
	for _, scene := range scenes {
		for _, size := range sizes {
			name := fmt.Sprintf("%s_%dx%d", scene.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				s := newScreen(t, size[0], size[1], termenv.Ascii, false)
				scene.play(s)
				golden(t, name, s.View())
			})
		}
	}
	t.Run("ascii_100x30", func(t *testing.T) {
		s := newScreen(t, 100, 30, termenv.Ascii, true)
		scenes[1].play(s)
		if view := s.View(); !isASCII(view) {
			t.Error("the ASCII screen holds more than ASCII")
		}
		golden(t, "ascii_100x30", s.View())
	})
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "screens", name+".txt")
	got += "\n"
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update rewrites it); got:\n%s\nwant:\n%s", path, got, want)
	}
}

// Whatever the size, no line is wider and no screen higher than the terminal.
func TestEverySizeFits(t *testing.T) {
	for width := minWidth; width <= 200; width += 3 {
		for height := minHeight; height <= 60; height += 5 {
			s := newScreen(t, width, height, termenv.ANSI, false)
			for _, frame := range recorded() {
				s.Update(stateMsg{state: frame})
			}
			s.Update(meMsg{place: &client.Place{UserID: "mallory", Rank: 9_000_000, Total: 10_000_000, Score: -1 << 53}})
			s.Update(foundMsg{user: "zoe", place: client.Place{UserID: "zoe", Rank: 8123, Total: 10_000, Score: 3, Neighbours: recorded()[0].Entries}})
			for range 2 { // without and with help
				lines := strings.Split(s.View(), "\n")
				if len(lines) > height {
					t.Fatalf("%dx%d: %d lines", width, height, len(lines))
				}
				for _, line := range lines {
					if w := ansi.StringWidth(line); w > width {
						t.Fatalf("%dx%d: a line of %d cells: %q", width, height, w, line)
					}
				}
				s.keys("?")
			}
		}
	}
	s := newScreen(t, 39, 40, termenv.ANSI, false)
	s.contains("too small: 39x40", "needs 40x12")
}

func TestMarksFade(t *testing.T) {
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
	s.contains("bob +500 to 1,284,480") // is news for longer
	s.keys("e")
	s.lacks("+500")
}

func TestPauseHoldsTheScreen(t *testing.T) {
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

func TestOwnRow(t *testing.T) {
	s := newScreen(t, 100, 30, termenv.Ascii, false)
	s.Update(stateMsg{state: recorded()[0]})
	s.lacks("◀")
	s.Update(meMsg{place: &client.Place{UserID: "mallory", Rank: 4711, Total: 10_000, Score: 12}})
	s.contains("4,711", "mallory", "◀")
	moved := recorded()[1]
	moved.Me = &client.Move{UserID: "mallory", Rank: 99, Score: 40}
	s.Update(stateMsg{state: moved})
	s.contains(" 99 ", "mallory")
	s.Update(meMsg{place: &client.Place{UserID: "alice", Rank: 2, Score: 1_284_112}})
	s.lacks("mallory")
	if n := strings.Count(s.View(), "alice"); n != 1 {
		t.Errorf("alice is shown %d times, want once, among the rows", n)
	}
}

func TestSearch(t *testing.T) {
	asked := ""
	s := newScreen(t, 100, 30, termenv.Ascii, false)
	s.o.Find = func(_ context.Context, _, user string, k int) (client.Place, error) {
		asked = fmt.Sprint(user, k)
		if user == "nobody" {
			return client.Place{}, errors.New("the user has no score on this board")
		}
		return client.Place{UserID: user, Rank: 12, Total: 13, Score: 1, Neighbours: []client.Entry{{Rank: 11, UserID: "above", Score: 2}}}, nil
	}
	s.Update(stateMsg{state: recorded()[0]})
	look := func(user string) {
		s.keys("/")
		for _, letter := range user {
			s.keys(string(letter))
		}
		s.contains("search: " + user)
		_, cmd := s.Update(tea.KeyMsg{Type: tea.KeyEnter})
		s.Update(cmd())
	}
	look("zoeq?p")
	if asked != "zoeq?p2" {
		t.Errorf("asked for %q, want the letters typed and 2 neighbours: keys must not act while typing", asked)
	}
	s.contains("zoeq?p is 12 of 13", "above")
	s.keys("esc", "/alice") // in one piece
	s.contains("search: alice")
	s.keys("esc")
	look("nobody")
	s.contains("the user has no score on this board")
	s.keys("esc")
	s.lacks("no score", "search:")
}

func TestAnotherPeriodIsNoMovement(t *testing.T) {
	s := newScreen(t, 100, 30, termenv.Ascii, false)
	today := recorded()[0]
	s.Update(stateMsg{state: today})
	tomorrow := recorded()[1]
	tomorrow.Board = "daily:2026-11-22"
	s.Update(stateMsg{state: tomorrow})
	s.lacks("▲", "new")
}

func TestDegradedIsSaid(t *testing.T) {
	for _, size := range sizes {
		s := newScreen(t, size[0], size[1], termenv.Ascii, false)
		state := recorded()[0]
		state.Degraded = "redis is away"
		s.Update(stateMsg{state: state})
		s.contains("degraded: redis is away")
	}
}

// Another board is another watch: what the first still says is not shown.
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
		t.Errorf("watched %v after asking for periods of %q", watched, families)
	}
	s.stop()
}

func TestNeighboursAndCopy(t *testing.T) {
	s := newScreen(t, 100, 30, termenv.Ascii, false)
	asked, copied := -1, ""
	s.o.Find = func(_ context.Context, _, user string, k int) (client.Place, error) {
		asked = k
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
	if asked != someNeighbours+1 {
		t.Errorf("asked for %d neighbours after +, want %d", asked, someNeighbours+1)
	}
	for range 2 * mostNeighbours {
		s.keys("-")
	}
	if s.neighbours != 0 {
		t.Errorf("neighbours: got %d, want none and not less", s.neighbours)
	}
}

// Who may not ask how the server feels is not an operator, and not asked again;
// a server that is away is.
func TestThePanelIsForOperators(t *testing.T) {
	s := newScreen(t, 100, 30, termenv.Ascii, false)
	s.Update(stateMsg{state: recorded()[0]})
	if cmd := s.felt(statusMsg{status: felt()}); cmd == nil {
		t.Error("the server is not asked again")
	}
	s.contains("outbox 4,200", "lag 20", "Kafka does not answer")
	s.keys("o")
	s.lacks("outbox")
	s.keys("o")
	if cmd := s.felt(statusMsg{err: errors.New("away")}); cmd == nil {
		t.Error("after a failure: not asked again")
	}
	s.lacks("outbox") // old figures would lie
	if cmd := s.felt(statusMsg{err: scoreboard.Errorf(scoreboard.CodeForbidden, "no")}); cmd != nil {
		t.Error("after a refusal: asked again")
	}
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

func TestAFrozenBoardSaysSo(t *testing.T) {
	s := newScreen(t, 100, 30, termenv.Ascii, false)
	asked := ""
	s.o.Watch = func(context.Context, string) <-chan client.State { return nil }
	s.o.BoardStatus = func(_ context.Context, board string) (string, error) { asked = board; return "frozen", nil }
	s.watch("arena")
	s.Update(stateMsg{s.generation, recorded()[0]})
	s.Update(s.readBoardStatus()())
	s.contains("frozen", "the board is frozen: it takes no scores")
	if asked != "arena" {
		t.Errorf("asked about %q", asked)
	}
	s.Update(boardStatusMsg{s.generation, ""}) // the server was away
	s.Update(boardStatusMsg{s.generation - 1, active})
	s.contains("epoch 3 frozen")
	s.Update(boardStatusMsg{s.generation, active})
	s.contains("the board takes scores again")
	s.lacks("epoch 3 frozen")
}
