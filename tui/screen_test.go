package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
	"go.uber.org/goleak"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// screen is a model without a terminal, with its own clock.
type screen struct {
	*model
	t     *testing.T
	clock time.Time
}

// look is how a screen is drawn.
type look struct {
	name        string
	colours     termenv.Profile
	dark, ascii bool
}

var (
	plain = look{"plain", termenv.Ascii, true, false}
	looks = []look{
		plain,
		{"dark", termenv.TrueColor, true, false},
		{"light", termenv.TrueColor, false, false},
		{"ascii", termenv.Ascii, true, true},
		{"sixteen", termenv.ANSI, true, false},
	}
)

func newScreen(t *testing.T, width, height int, l look) *screen {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(l.colours)
	s := &screen{t: t, clock: start}
	s.model = newModel(t.Context(), Options{ASCII: l.ascii}, r, l.dark)
	s.model.now = func() time.Time { return s.clock }
	s.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return s
}

// wait lets time pass.
func (s *screen) wait(d time.Duration) {
	s.clock = s.clock.Add(d)
	s.Update(tickMsg{})
}

func (s *screen) keys(keys ...string) (last tea.Cmd) {
	named := map[string]tea.KeyType{
		"enter": tea.KeyEnter, "esc": tea.KeyEsc, "backspace": tea.KeyBackspace,
		"up": tea.KeyUp, "down": tea.KeyDown, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
		"left": tea.KeyLeft, "right": tea.KeyRight,
		"home": tea.KeyHome, "end": tea.KeyEnd, "ctrl+u": tea.KeyCtrlU, "space": tea.KeySpace,
	}
	for _, k := range keys {
		if special, ok := named[k]; ok {
			last = s.handle(tea.KeyMsg{Type: special})
			continue
		}
		last = s.handle(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)})
	}
	return last
}

// run handles the messages of a command, except those of ticks.
func (s *screen) run(cmd tea.Cmd) {
	s.t.Helper()
	if cmd == nil {
		s.t.Fatal("no command, want a request")
	}
	s.handle(cmd())
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

// entries returns rows of alternating users and scores, best first.
func entries(pairs ...any) (all []client.Entry) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, client.Entry{
			Rank: int64(i/2 + 1), UserID: pairs[i].(string), Score: int64(pairs[i+1].(int)),
		})
	}
	return all
}

// recorded holds states of a watched board: a first one, then bob overtakes, carol
// arrives and the connection breaks.
func recorded() []client.State {
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
		"judy", 1_024,
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

// hundred returns a board of a hundred users.
func hundred() client.State {
	s := client.State{Board: "global", Version: 1, Epoch: 1, HeardAt: start, Connection: client.WebSocket}
	for i := range int64(100) {
		s.Entries = append(s.Entries, client.Entry{Rank: i + 1, UserID: fmt.Sprintf("user%d.", i+1), Score: 1000 - i})
	}
	return s
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
		Parity: &wire.Parity{
			Checked: 100_000,
			Drifted: 1,
			Percent: 99.999,
		},
		Board:    &client.RankingStatus{State: "CATCHING_UP", AgeMS: &behind},
		Problems: []string{"Kafka does not answer"},
	}
}

// healthyStatus is the status of a server at n writes a second.
func healthyStatus(n float64) *client.Status {
	p95, zero, behind := 4+n/20, int64(0), int64(120+n)
	return &client.Status{
		IncrementsPerSecond: &n, LatencyP95MS: &p95, OutboxDepth: &zero, OutboxOldestAgeMS: &zero,
		ConsumerLag: map[string]int64{"scoreboard.events.v1": int64(n) % 5},
		Connections: map[string]int64{"websocket": 12},
		Parity:      &wire.Parity{Checked: 5000, Percent: 100},
		Board:       &client.RankingStatus{State: "HEALTHY", AgeMS: &behind},
	}
}

// busy plays a board of an operator: movements, a flag, health and the own standing.
func busy(s *screen) {
	for i := range 20 {
		s.Update(statusMsg{status: healthyStatus(float64(40 + 7*i%31))})
	}
	s.Update(infoMsg{board: client.Board{Board: "global", Status: active, Period: "none"}})
	for _, frame := range recorded()[:2] {
		s.Update(stateMsg{state: frame})
	}
	s.Update(meMsg{place: &client.Place{UserID: "mallory", Rank: 4711, Total: 10_000, Score: 12}})
	s.Update(statusMsg{status: healthyStatus(47), flags: []client.Flag{
		{ID: 3, UserID: "carol", Rule: "size", Delta: 2500, Detail: "83 times the median"},
	}})
	s.keys("down", "down", "down")
	s.wait(600 * time.Millisecond)
}

// autumn is a season that ends twelve seconds after start.
func autumn(status string) client.Board {
	began, ends := start.Add(-time.Hour), start.Add(12*time.Second)
	b := client.Board{
		Board: "cup:autumn", Period: "season", Status: status, TimeZone: "UTC", PeriodStart: &began, PeriodEnd: &ends,
	}
	if status == Ended {
		b.StandingsHash = "3fa94c1e7b20d85e"
	}
	return b
}

// At every size, no line is wider and no screen taller than the terminal: at 78 of
// 540 sizes, or with SCOREBOARD_PROOF=1 at all of them.
func TestViewFitsEverySize(t *testing.T) {
	every, sizes := 7, 0
	if os.Getenv("SCOREBOARD_PROOF") == "1" {
		every = 1
	}
	overlays := [][]string{nil, {"?"}, {"?", "a"}, {"enter", "esc"}, {"/"}}
	for width := minWidth; width <= 200; width += 3 {
		for height := minHeight; height <= 60; height += 5 {
			if sizes++; sizes%every != 1%every {
				continue
			}
			s := newScreen(t, width, height, looks[1])
			busy(s)
			s.Update(stateMsg{state: recorded()[2]})
			s.Update(
				meMsg{place: &client.Place{UserID: "mallory", Rank: 9_000_000, Total: 10_000_000, Score: -1 << 53}},
			)
			for _, keys := range overlays {
				s.keys(keys...)
				fits(t, s)
			}
			s.keys("esc")
			openBob(s)
			fits(t, s)
		}
	}
	s := newScreen(t, 39, 40, plain)
	s.contains("too small: 39x40", "needs 40x12")
}

func fits(t *testing.T, s *screen) {
	t.Helper()
	lines := strings.Split(s.View(), "\n")
	if len(lines) != s.height {
		t.Fatalf("%dx%d: %d lines:\n%s", s.width, s.height, len(lines), ansi.Strip(s.View()))
	}
	for _, line := range lines {
		if w := ansi.StringWidth(line); w > s.width {
			t.Fatalf("%dx%d: a line of %d cells: %q", s.width, s.height, w, line)
		}
	}
}

func TestOwnRow(t *testing.T) {
	s := newScreen(t, 120, 40, plain)
	s.Update(stateMsg{state: recorded()[0]})
	s.lacks("(you)")
	s.Update(meMsg{place: &client.Place{UserID: "mallory", Rank: 4711, Total: 10_000, Score: 12}})
	s.contains("4,711", "mallory (you)")
	moved := recorded()[1]
	moved.Me = &client.Move{UserID: "mallory", Rank: 99, Score: 40}
	s.Update(stateMsg{state: moved})
	s.contains(" 99 ", "mallory (you)")
	s.Update(meMsg{place: &client.Place{UserID: "alice", Rank: 2, Score: 1_284_112}})
	s.lacks("mallory")
	s.contains("alice (you)")
}

// What is unusual is said in words, at every size.
func TestBannersSayWhatIsUnusual(t *testing.T) {
	polling := recorded()[0]
	polling.Connection, polling.Err = client.Polling, errors.New("5 of 5 streams of this user are in use")
	degraded := recorded()[0]
	degraded.Degraded = "ranking_unavailable"
	unknown := recorded()[0]
	unknown.Degraded = "of a newer server"
	cases := []struct {
		name   string
		state  client.State
		status string
		want   string
	}{
		{"frozen", recorded()[0], frozen, "frozen by an operator"},
		{"archived", recorded()[0], archived, "archived: no scores are"},
		{"over", recorded()[0], Ended, "this period has ended"},
		{"polling", polling, active, "polling every few seconds: 5 of 5"},
		{"degraded", degraded, active, "degraded: Redis does not answer"},
		{"unknown", unknown, active, "degraded: of a newer server"},
		{"offline", recorded()[2], active, "connection reset by"},
	}
	for _, tc := range cases {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s %dx%d", tc.name, size[0], size[1]), func(t *testing.T) {
				s := newScreen(t, size[0], size[1], plain)
				s.Update(stateMsg{state: tc.state})
				s.Update(infoMsg{board: client.Board{Board: "global", Status: tc.status}})
				s.contains(tc.want)
			})
		}
	}
}

func TestFrozenBoardIsShown(t *testing.T) {
	s := newScreen(t, 120, 40, plain)
	requested := ""
	s.o.Watch = func(context.Context, string) <-chan client.State { return nil }
	s.o.BoardInfo = func(_ context.Context, board string) (client.Board, error) {
		requested = board
		return client.Board{Board: board, Status: active}, nil
	}
	s.watch("arena")
	s.run(s.readInfo())
	if requested != "arena" {
		t.Errorf("read the board %q, want arena", requested)
	}
	s.Update(stateMsg{s.generation, recorded()[0]})
	s.Update(infoMsg{s.generation, client.Board{Board: "arena", Status: frozen}, nil})
	s.contains(" frozen ", "the board is frozen and")
	s.Update(infoMsg{generation: s.generation, err: errors.New("not available")})
	s.Update(infoMsg{s.generation - 1, client.Board{Board: "arena", Status: active}, nil})
	s.contains("frozen by an operator")
	s.Update(infoMsg{s.generation, client.Board{Board: "arena", Status: active}, nil})
	s.contains("the board accepts scores again")
	s.lacks("frozen by an operator")
}

// The header counts down to the end of a period, and then names the winners.
func TestSeasonEnds(t *testing.T) {
	s := newScreen(t, 120, 40, plain)
	season := recorded()[1]
	season.Board = "cup:autumn"
	s.Update(stateMsg{state: season})
	s.Update(infoMsg{board: autumn(active)})
	s.contains("cup · season autumn · ends in 12 s")
	if next := s.nextChange(); next.After(start.Add(time.Second)) {
		t.Errorf("next frame at %v, want within a second, for the countdown", next)
	}
	s.wait(3 * time.Second)
	s.contains("ends in 9 s")
	s.wait(10 * time.Second)
	next := season
	next.Board, next.Entries, next.HeardAt = "cup:winter", nil, s.clock
	s.Update(stateMsg{state: next})
	s.Update(infoMsg{board: client.Board{Board: "cup:winter", Period: "season", Status: active}})
	s.contains("autumn has ended: 1st bob 1,284,480 · 2nd alice 1,284,112 · 3rd", "autumn has ended: bob wins with")
	s.lacks("left the")
	s.wait(finaleFor)
	s.lacks("1st bob")
}

func TestCountdown(t *testing.T) {
	t.Parallel()
	for left, want := range map[time.Duration]string{
		time.Millisecond: "1 s", 2 * time.Minute: "120 s", 2*time.Minute + 1: "3 min", 90 * time.Minute: "90 min",
		5*time.Hour - time.Minute: "5 h", 80 * time.Hour: "4 days",
	} {
		if got := countdown(left); got != want {
			t.Errorf("%v: got %q, want %q", left, got, want)
		}
	}
}

// An idle screen needs no frames: nothing changes until the data is old.
func TestIdleScreenDrawsNothing(t *testing.T) {
	s := newScreen(t, 120, 40, plain)
	busy(s)
	s.wait(trendSlots * trendSlot)
	heard := recorded()[1]
	heard.HeardAt = s.clock
	s.Update(stateMsg{state: heard})
	s.statusAt = s.clock
	before := s.View()
	if next := s.nextChange(); next.Before(s.clock.Add(staleAfter)) {
		t.Errorf("next frame after %v, want none before the data is %v old", next.Sub(s.clock), staleAfter)
	}
	s.wait(staleAfter - time.Millisecond)
	if s.View() != before {
		t.Error("the idle screen changed")
	}
	s.wait(time.Millisecond)
	s.contains("5 s ago")
}
