package tui

import (
	"context"
	"io"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"github.com/scoreboard/scoreboard/tui/quietinit"
)

func init() { quietinit.Restore() }

// framesPerSecond bounds how often the screen is drawn.
const framesPerSecond = 20

// Run shows the live screen on the terminal in and out until the user quits or
// ctx ends, which is no error. When the watch is refused for good, it returns
// why.
func Run(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	// Commands of the screen end with it, so that nothing asks on after it.
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	m := newModel(asking, o, newStyle(lipgloss.NewRenderer(out), o.ASCII))
	screen := tea.NewProgram(m, tea.WithInput(in), tea.WithOutput(out), tea.WithAltScreen(),
		tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond))
	// Not by tea.WithContext: that ends without waiting for the reader of the
	// keys, whose file it closes.
	defer context.AfterFunc(ctx, screen.Quit)()
	if _, err := screen.Run(); err != nil {
		return err
	}
	if m.ended && ctx.Err() == nil {
		return m.newest.Err
	}
	return nil
}
