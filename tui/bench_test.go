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

// One frame of the largest screen with everything shown. At ten frames a second, 3 ms
// is three percent of a core.
func BenchmarkFrame(b *testing.B) {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI)
	m := newModel(b.Context(), Options{}, newStyle(r, false))
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 60})
	m.Update(statusMsg{status: failingStatus()})
	frames := recorded()
	m.Update(meMsg{place: &client.Place{UserID: "mallory", Rank: 4711, Score: 12}})
	m.states = make(chan client.State)
	for i := 0; b.Loop(); i++ {
		f := frames[i%2]
		f.Version, f.HeardAt = int64(i), time.Now()
		m.Update(stateMsg{state: f})
		_ = m.View()
	}
}
