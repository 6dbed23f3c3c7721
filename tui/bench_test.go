package tui

import (
	"io"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"github.com/scoreboard/scoreboard/client"
)

// One frame of the largest screen with a hundred rows, of which two have moved. A busy
// board has at most eight states a second, with up to four frames of motion each.
func BenchmarkFrame(b *testing.B) {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.TrueColor)
	m := newModel(b.Context(), Options{}, r, true)
	m.handle(tea.WindowSizeMsg{Width: 200, Height: 60})
	m.handle(statusMsg{status: failingStatus()})
	m.handle(meMsg{place: &client.Place{UserID: "mallory", Rank: 4711, Score: 12}})
	frames := []client.State{hundred(), hundred()}
	e := frames[1].Entries
	e[4], e[5] = e[5], e[4]
	e[4].Rank, e[5].Rank, e[4].Score = 5, 6, e[4].Score+2
	for i := 0; b.Loop(); i++ {
		f := frames[i%2]
		f.Version, f.HeardAt = int64(i), time.Now()
		m.handle(stateMsg{state: f})
		_ = m.View()
	}
}

// One event on a board that gets two a second, with all that it makes the screen draw: the row moves
// to its place, the score fades, the marks go. ns/op is the time of the processor per event.
func BenchmarkEvent(b *testing.B) {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.TrueColor)
	m := newModel(b.Context(), Options{}, r, true)
	clock := start
	m.now = func() time.Time { return clock }
	views := 0
	send := func(msg tea.Msg) {
		m.Update(msg)
		_ = m.View()
		views++
	}
	send(tea.WindowSizeMsg{Width: 120, Height: 40})
	send(statusMsg{status: failingStatus()})
	frames := []client.State{hundred(), hundred()}
	e := frames[1].Entries
	e[4], e[5] = e[5], e[4]
	e[4].Rank, e[5].Rank, e[4].Score = 5, 6, e[4].Score+2
	for i := 0; b.Loop(); i++ {
		f := frames[i%2]
		f.Version, f.HeardAt = int64(i), clock
		send(stateMsg{state: f})
		end := clock.Add(500 * time.Millisecond)
		listen := clock.Add(stateInterval)
		for {
			next := m.nextChange()
			if !listen.IsZero() && (next.IsZero() || listen.Before(next)) {
				clock, listen = listen, time.Time{}
				send(listenMsg{-1})
				continue
			}
			if next.IsZero() || next.After(end) {
				break
			}
			clock = next
			send(tickMsg{})
		}
		clock = end
	}
	b.ReportMetric(float64(views)/float64(b.N), "views/op")
}
