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
