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
)

var update = flag.Bool("update", false, "rewrite the golden screens")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// screen is a model without a terminal, with its own clock.
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
		"left": tea.KeyLeft, "home": tea.KeyHome, "ctrl+u": tea.KeyCtrlU, "space": tea.KeySpace,
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

// recorded holds states of a watched board: a first one, then bob overtakes, carol
// arrives and the connection breaks.
func recorded() []client.State {
	entries := func(pairs ...any) (all []client.Entry) {
		for i := 0; i < len(pairs); i += 2 {
			user, score := pairs[i].(string), int64(pairs[i+1].(int))
			all = append(all, client.Entry{Rank: int64(i/2 + 1), UserID: user, Score: score})
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
	first := names(entries(
		"alice", 1_284_112, "bob", 1_283_980, "kenji", 998_001,
		"dalia", 870_500, "evil", 655_360, "frank.of.the-very.long:name@example.org", 512_000,
		"grace", 400_123, "heidi", 99_999, "ivan", 1_024,
		"judy", 7,
	))
	second := names(entries(
		"bob", 1_284_480, "alice", 1_284_112, "kenji", 998_001,
		"dalia", 870_500, "evil", 655_360, "frank.of.the-very.long:name@example.org", 512_000,
		"grace", 400_123, "heidi", 99_999, "carol", 2_500,
		"ivan", 1_024,
	))
	state := client.State{
		Board:      "global",
		Epoch:      3,
		Version:    1041,
		Entries:    first,
		HeardAt:    start,
		Connection: client.WebSocket,
	}
	moved := state
	moved.Version, moved.Entries, moved.HeardAt = 1042, second, start.Add(400*time.Millisecond)
	broken := moved
	broken.Connection, broken.Reconnects = client.Disconnected, 1
	broken.Err = errors.New("read the stream: connection reset by peer")
	return []client.State{state, moved, broken}
}

// failingStatus is the status of a server with problems.
func failingStatus() *client.Status {
	rate, p95, depth, oldest, behind := 1234.4, 8.25, int64(4200), int64(7300), int64(900)
	return &client.Status{
		IncrementsPerSecond: &rate,
		LatencyP95MS:        &p95,
		OutboxDepth:         &depth,
		OutboxOldestAgeMS:   &oldest,
		ConsumerLag: map[string]int64{
			"scoreboard.events.v1": 17,
			"score-increments.v1":  3,
		},
		Connections: map[string]int64{"websocket": 1200, "sse": 34},
		Parity: &protocol.Parity{
			Checked: 100_000,
			Drifted: 1,
			Percent: 99.999,
		},
		Board:    &client.RankingStatus{State: "CATCHING_UP", AgeMS: &behind},
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
		{"disconnected", func(s *screen) {
			for _, frame := range recorded() {
				s.Update(stateMsg{state: frame})
			}
			s.clock = s.clock.Add(42 * time.Second)
		}},
		{"found", func(s *screen) {
			s.Update(stateMsg{state: recorded()[0]})
			s.Update(
				foundMsg{
					user: "zoe",
					place: client.Place{UserID: "zoe", Rank: 8123, Total: 10_000, Score: 3, Neighbours: []client.Entry{
						{Rank: 8122, UserID: "yuri", Score: 4},
						{Rank: 8123, UserID: "zoe", Score: 3},
						{Rank: 8124, UserID: "zack", Score: 3},
					}},
				},
			)
		}},
		{"operator", func(s *screen) {
			for i, frame := range recorded()[:2] {
				s.clock = start.Add(time.Duration(i) * 7 * time.Second)
				s.Update(stateMsg{state: frame})
			}
			s.Update(meMsg{place: &client.Place{
				UserID: "mallory", Rank: 4711, Total: 10_000, Score: 12,
				Neighbours: []client.Entry{
					{Rank: 4710, UserID: "lena", Score: 13},
					{Rank: 4711, UserID: "mallory", Score: 12},
					{Rank: 4712, UserID: "nina", Score: 12},
				},
			}})
			s.Update(statusMsg{status: failingStatus()})
		}},
		{"boards", func(s *screen) {
			s.Update(stateMsg{state: recorded()[0]})
			s.Update(boardsMsg{boards: []client.Board{
				{Board: "daily"}, {Board: "daily:2026-11-21"}, {Board: "global"}, {Board: "season.winter"},
			}})
			s.keys("j")
		}},
		{"search", func(s *screen) {
			s.Update(stateMsg{state: recorded()[0]})
			s.keys("/frank.of.the-very.long:name@example.org", "left", "left", "left")
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

// At every size, no line is wider and no screen taller than the terminal.
func TestViewFitsEverySize(t *testing.T) {
	for width := minWidth; width <= 200; width += 3 {
		for height := minHeight; height <= 60; height += 5 {
			s := newScreen(t, width, height, termenv.ANSI, false)
			for _, frame := range recorded() {
				s.Update(stateMsg{state: frame})
			}
			s.Update(
				meMsg{place: &client.Place{UserID: "mallory", Rank: 9_000_000, Total: 10_000_000, Score: -1 << 53}},
			)
			s.Update(
				foundMsg{
					user: "zoe",
					place: client.Place{
						UserID:     "zoe",
						Rank:       8123,
						Total:      10_000,
						Score:      3,
						Neighbours: recorded()[0].Entries,
					},
				},
			)
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

func TestDegradedIsShown(t *testing.T) {
	for _, size := range sizes {
		s := newScreen(t, size[0], size[1], termenv.Ascii, false)
		state := recorded()[0]
		state.Degraded = "Redis is unavailable"
		s.Update(stateMsg{state: state})
		s.contains("degraded: Redis is unavailable")
	}
}

func TestFrozenBoardIsShown(t *testing.T) {
	s := newScreen(t, 100, 30, termenv.Ascii, false)
	requested := ""
	s.o.Watch = func(context.Context, string) <-chan client.State { return nil }
	s.o.BoardStatus = func(_ context.Context, board string) (string, error) { requested = board; return "frozen", nil }
	s.watch("arena")
	s.Update(stateMsg{s.generation, recorded()[0]})
	s.Update(s.readBoardStatus()())
	s.contains("frozen", "the board is frozen and accepts no scores")
	if requested != "arena" {
		t.Errorf("read the status of %q, want arena", requested)
	}
	s.Update(boardStatusMsg{s.generation, ""}) // not available
	s.Update(boardStatusMsg{s.generation - 1, active})
	s.contains("epoch 3 frozen")
	s.Update(boardStatusMsg{s.generation, active})
	s.contains("the board accepts scores again")
	s.lacks("epoch 3 frozen")
}
