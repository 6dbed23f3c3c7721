package tui

import (
	"context"
	"io"
	"os"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"github.com/scoreboard/scoreboard/tui/quietinit"
)

func init() { quietinit.Restore() }

// framesPerSecond bounds the redraw rate.
const framesPerSecond = 20

// Run shows the live screen on the terminal in and out until the user quits or
// ctx ends, which is not an error. If the watch is rejected permanently, it returns
// the error.
func Run(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	// Requests end with the screen.
	requests, cancel := context.WithCancel(ctx)
	defer cancel()
	r := lipgloss.NewRenderer(out)
	m := newModel(requests, o, r, darkByEnvironment(os.Getenv("COLORFGBG")))
	screen := tea.NewProgram(m, tea.WithInput(in), tea.WithOutput(out), tea.WithAltScreen(),
		tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond))
	// Not tea.WithContext: it does not wait for the key reader, whose file it
	// closes.
	defer context.AfterFunc(ctx, screen.Quit)()
	if r.ColorProfile() != termenv.Ascii {
		m.query = func() { _, _ = io.WriteString(out, queryBackground) }
	}
	if _, err := screen.Run(); err != nil {
		return err
	}
	if m.ended && ctx.Err() == nil {
		return m.newest.Err
	}
	return nil
}
