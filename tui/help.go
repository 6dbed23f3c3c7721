package tui

import (
	"strings"

	"github.com/charmbracelet/bubbles/help"
	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/x/ansi"
)

// keyMap holds the keys of the screen, with their help.
type keyMap struct {
	help, board, period, find, neighbours, scroll, pause, copy, status, feed, close, quit key.Binding

	// Described by neighbours and scroll.
	more, fewer, up, down, pageUp, pageDown key.Binding

	choose, dismiss key.Binding // in the list of boards
}

var keys = keyMap{
	help:       bind("?", "toggle this help", "?", "h"),
	board:      bind("b", "switch board", "b"),
	period:     bind("t", "switch period", "t"),
	find:       bind("/", "find a user", "/"),
	neighbours: bind("+ -", "more or fewer neighbours", "+", "=", "-"),
	scroll:     bind("j k", "scroll (arrows, pgup, pgdn)", "up", "k", "down", "j", "pgup", "pgdown"),
	pause:      bind("p", "pause or resume", "p", " "),
	copy:       bind("y", "copy found user or board", "y"),
	status:     bind("o", "toggle server status", "o"),
	feed:       bind("e", "toggle the feed", "e"),
	close:      bind("esc", "close, clear", "esc"),
	quit:       bind("q", "quit", "q", "ctrl+c"),

	more:     key.NewBinding(key.WithKeys("+", "=")),
	fewer:    key.NewBinding(key.WithKeys("-")),
	up:       key.NewBinding(key.WithKeys("up", "k")),
	down:     key.NewBinding(key.WithKeys("down", "j")),
	pageUp:   key.NewBinding(key.WithKeys("pgup")),
	pageDown: key.NewBinding(key.WithKeys("pgdown")),

	choose:  bind("enter", "select", "enter"),
	dismiss: bind("esc", "close", "esc", "q", "b", "t"),
}

func bind(name, description string, pressed ...string) key.Binding {
	return key.NewBinding(key.WithKeys(pressed...), key.WithHelp(name, description))
}

// brief returns a binding with the shorter description of the footer.
func brief(b key.Binding, description string) key.Binding {
	b.SetHelp(b.Help().Key, description)
	return b
}

// ShortHelp returns the keys named in the footer. Quit is among the first: a narrow
// screen omits the last ones.
func (m *model) ShortHelp() []key.Binding {
	hints := []key.Binding{
		brief(keys.help, "help"), keys.quit, brief(keys.board, "board"), brief(keys.find, "find"),
		brief(keys.pause, "pause"),
	}
	if len(m.board.rows) > m.room {
		scroll := keys.scroll
		scroll.SetHelp(m.style.arrows, "scroll")
		hints = append([]key.Binding{scroll}, hints...)
	}
	return hints
}

// FullHelp returns the keys of the help, in one column.
func (m *model) FullHelp() [][]key.Binding {
	all := []key.Binding{
		keys.help, keys.board, keys.period, keys.find, keys.neighbours, keys.scroll, keys.pause, keys.copy,
	}
	if m.height >= largeHeight { // a small screen has no status and no feed
		all = append(all, keys.status, keys.feed)
	}
	return [][]key.Binding{append(all, keys.close, keys.quit)}
}

// helpView returns the component that draws the help.
func (st *style) helpView() help.Model {
	return help.Model{
		ShortSeparator: st.between,
		Ellipsis:       st.more,
		Styles: help.Styles{
			Ellipsis: st.dim, ShortKey: st.dim, ShortDesc: st.dim, ShortSeparator: st.dim,
			FullKey: st.key.Width(helpKeyWidth - 1), // a space follows
		},
	}
}

// shortHelp draws keys on one line of the given width.
func (st *style) shortHelp(bindings []key.Binding, width int) string {
	view := st.helpView()
	view.Width = width
	return fit(view.ShortHelpView(bindings), width, st.more)
}

// helpKeyWidth is the width of the keys and marks in the help.
const helpKeyWidth = 5

// helpText returns the lines of the help: the keys, and what the marks mean.
func (m *model) helpText() []string {
	st := &m.style
	text := strings.Split(st.helpView().FullHelpView(m.FullHelp()), "\n")
	if m.height >= largeHeight+4 {
		text = append(text, "")
		for _, mark := range [][2]string{
			{st.upMark + st.downMark, "ranks gained and lost"},
			{"new", "not shown before"},
			{"gap", "points to the row above"},
			{"age", "time since the server"},
			{"", "last confirmed the board"},
			{"bar", "score relative to the best"},
			{"p95", "95 % of increments take"},
			{"", "at most this long"},
		} {
			text = append(text, fit(mark[0], helpKeyWidth, "")+mark[1])
		}
	}
	// A small screen fits only the keys, truncated.
	for i := range text {
		text[i] = ansi.Truncate(text[i], m.width-8, st.more)
	}
	return text[:min(len(text), m.height-2)]
}
