package tui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/scoreboard/scoreboard/client"
)

// past is what the playbacks of these tests show: a change every minute, in parts of three.
func past(from time.Time) client.Timeline {
	const changes = 8
	f := client.Timeline{Board: "cup:autumn", Start: from, End: start.Add(changes * time.Minute), StepMS: 1000}
	first := int(from.Sub(start) / time.Minute)
	for i := first; i < min(first+3, changes+1); i++ {
		entries := []client.Entry{
			{Rank: 1, UserID: "ada", Score: int64(100 + 10*i)}, {Rank: 2, UserID: "bob", Score: int64(90 + 7*i)},
		}
		if i >= 5 {
			entries = []client.Entry{
				{Rank: 1, UserID: "bob", Score: int64(90 + 30*i)}, {Rank: 2, UserID: "ada", Score: int64(100 + 10*i)},
			}
		}
		at := start.Add(time.Duration(i) * time.Minute)
		f.Frames = append(f.Frames, client.TimelineFrame{At: at, Total: 2, Entries: entries})
	}
	if next := first + 3; next <= changes {
		f.NextFrom = new(start.Add(time.Duration(next) * time.Minute))
	}
	return f
}

// newPlayback returns a screen with a playback, before its first part.
func newPlayback(t *testing.T, width, height int, l look) *screen {
	t.Helper()
	s := newScreen(t, width, height, l)
	r := lipgloss.NewRenderer(new(bytes.Buffer))
	r.SetColorProfile(l.colours)
	s.model = newModel(t.Context(), Options{ASCII: l.ascii, Playback: &Playback{
		Board: "cup", From: start, Speed: 60,
		Load: func(_ context.Context, from, _ time.Time, _ time.Duration) (client.Timeline, error) {
			return past(from), nil
		},
	}}, r, l.dark)
	s.model.now = func() time.Time { return s.clock }
	s.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return s
}

// load runs the requests of the playback that are due.
func (s *screen) load() {
	s.t.Helper()
	for {
		s.reel.loading = false // the command of the last update is not run
		cmd := s.playback.loadTimeline()
		if cmd == nil {
			return
		}
		s.Update(cmd())
	}
}

// play lets time pass in the playback.
func (s *screen) play(d time.Duration) {
	last := s.clock
	s.clock = s.clock.Add(d)
	s.Update(playbackTickMsg{last})
	s.load()
}

// at fails if the playback does not show a moment, in minutes from its start, with ada's score.
func (s *screen) at(what string, minutes float64, score int64) {
	s.t.Helper()
	want := start.Add(time.Duration(minutes * float64(time.Minute)))
	i := s.board.find("ada")
	if i < 0 || !s.reel.at.Equal(want) || s.board.rows[i].Score != score {
		s.t.Errorf("%s: got %v, want %v with %d points of ada:\n%s", what, s.reel.at, want, score, s.View())
	}
}

// A playback plays at its speed, steps from change to change, and says which moment it shows.
func TestPlaybackKeys(t *testing.T) {
	t.Parallel()
	s := newPlayback(t, 100, 30, plain)
	s.load()
	s.at("at first", 0, 100)
	s.play(90 * time.Second / 60)
	s.at("a second and a half at 60x", 1.5, 110)
	s.keys("space")
	s.play(time.Minute)
	s.at("paused", 1.5, 110)
	s.keys("left")
	s.at("where the change began", 1, 110)
	s.keys("right")
	s.load()
	s.at("the next change", 2, 120)
	s.keys("right")
	s.at("a change of the next part", 3, 130)
	s.keys("left")
	s.keys("left")
	s.at("two changes back", 1, 110)
	s.keys("-")
	s.keys("space")
	s.play(2 * time.Second)
	s.at("at 30x", 2, 120)
	s.keys("+")
	s.keys("+")
	s.play(2 * time.Second)
	s.at("at 120x", 6, 160)
	if view := s.View(); !strings.Contains(view, "21 Nov 2026 12:06:00 UTC · 120x") ||
		!strings.Contains(view, " playback ") || !strings.Contains(view, "bob takes the lead from ada") {
		t.Errorf("the screen does not say what it shows:\n%s", view)
	}
	s.keys("left")
	s.keys("left")
	if view := s.View(); strings.Contains(view, "takes the lead") {
		t.Errorf("at %v, events of later are shown:\n%s", s.reel.at, view)
	}
	s.keys("space")
	s.play(time.Minute)
	s.at("the end", 8, 180)
	if s.reel.playing || !strings.Contains(s.View(), "the end") {
		t.Errorf("the playback goes on after its end:\n%s", s.View())
	}
	s.keys("space")
	s.load()
	s.at("again from the start", 0, 100)
	s.keys("/")
	if s.search.Focused() || !strings.Contains(s.View(), "not available in a playback") {
		t.Errorf("find works in a playback:\n%s", s.View())
	}
}

// A playback waits for what is not loaded, says why it cannot be, and tries again.
func TestPlaybackWaits(t *testing.T) {
	t.Parallel()
	s := newPlayback(t, 100, 30, plain)
	s.Update(timelineMsg{timeline: past(start)})
	s.reel.loading = true // and the answer does not come
	s.clock = s.clock.Add(time.Minute)
	s.Update(playbackTickMsg{start})
	if want := start.Add(3*time.Minute - time.Microsecond); !s.reel.at.Equal(want) ||
		!strings.Contains(s.View(), "loading") {
		t.Errorf("got %v, want it to wait at %v:\n%s", s.reel.at, want, s.View())
	}
	s.Update(timelineMsg{err: errors.New("the events are archived")})
	if !strings.Contains(s.View(), "the events are archived; space tries again") || s.playback.loadTimeline() != nil {
		t.Errorf("the error is not shown, or the part is loaded at once:\n%s", s.View())
	}
	s.keys("space")
	s.load()
	s.play(time.Second)
	s.at("after the next attempt", 4-1/6e7, 130)
}

// Lines are written when they are due, with the times of the past.
func TestPlaybackLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		began := time.Now()
		steps := []time.Duration{}
		err := PlaybackLines(t.Context(), &out, Playback{
			From: start, Speed: 120,
			Load: func(_ context.Context, from, _ time.Time, step time.Duration) (client.Timeline, error) {
				steps = append(steps, step)
				return past(from), nil
			},
		})
		text := out.String()
		if err != nil || !strings.HasPrefix(text, "2026-11-21 12:00:00  ada is #1 with 100\n") ||
			!strings.Contains(text, "2026-11-21 12:05:00  bob +122 to 240, #2 → #1\n") {
			t.Errorf("got %v:\n%s", err, text)
		}
		if took := time.Since(began); took != 4*time.Second || fmt.Sprint(steps) != "[15s 15s 15s]" {
			t.Errorf("eight minutes at 120x took %v with steps of %v, want 4 s and 15 s", took, steps)
		}
	})
}

// The screens of a playback are compared with files, as those of the live board, at 100x30.
func TestGoldenReplay(t *testing.T) {
	for _, l := range []look{plain, {"ascii", termenv.Ascii, true, true}} {
		for name, play := range map[string]func(*screen){
			"loading": func(*screen) {},
			"playing": func(s *screen) { s.load(); s.play(150 * time.Second / 60) },
			"paused": func(s *screen) {
				s.load()
				s.play(320 * time.Second / 60)
				s.keys("space")
				s.wait(time.Second)
			},
			"help": func(s *screen) { s.load(); s.keys("?") },
		} {
			s := newPlayback(t, 100, 30, l)
			play(s)
			s.Update(infoMsg{generation: s.generation, board: autumn(Ended)})
			fits(t, s)
			compare(t, fmt.Sprintf("testdata/screens/playback_%s_%s.txt", name, l.name), folded(s.View()))
		}
	}
}
