package tui

import (
	"context"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// boardWidth is the width of a board's name in the list.
const boardWidth = 32

// chooser is the list to select a board from.
type chooser struct {
	title string
	items []string
	at    int // the selected item
}

// list reads the boards, or the periods of one.
func (m *model) list(family string) tea.Cmd {
	m.help, m.notice = false, "loading the boards"
	return m.request(func(ctx context.Context) tea.Msg {
		boards, err := m.o.Boards(ctx, family)
		return boardsMsg{family, boards, err}
	})
}

// openChooser opens the list.
func (m *model) openChooser(msg boardsMsg) {
	m.notice = ""
	if msg.err != nil {
		m.notice = m.o.Explain(msg.err)
		return
	}
	c := &chooser{title: "boards"}
	for _, b := range msg.boards {
		instance := strings.Contains(b.Board, ":")
		if instance == (msg.family != "") { // periods have a separate list
			c.items = append(c.items, b.Board)
		}
	}
	if msg.family != "" {
		if len(c.items) == 0 {
			m.notice = msg.family + " has no periods"
			return
		}
		slices.Reverse(c.items) // newest first
		c.title, c.items = "periods of "+msg.family, append([]string{msg.family}, c.items...)
	}
	c.at = max(slices.Index(c.items, m.watching), 0)
	m.chooser = c
}

// chooserKey handles a key while the list is open.
func (m *model) chooserKey(msg tea.KeyMsg) tea.Cmd {
	c := m.chooser
	switch {
	case msg.Type == tea.KeyCtrlC:
		return tea.Quit
	case key.Matches(msg, keys.dismiss):
		m.chooser = nil
	case key.Matches(msg, keys.up):
		c.at = max(c.at-1, 0)
	case key.Matches(msg, keys.down):
		c.at = min(c.at+1, len(c.items)-1)
	case key.Matches(msg, keys.choose):
		m.chooser = nil
		if len(c.items) > 0 && c.items[c.at] != m.watching {
			return m.watch(c.items[c.at])
		}
	}
	return nil
}

// view returns the part of the list around the selection.
func (c *chooser) view(st *style, room, width int) []string {
	lines := []string{st.title.Render(fit(c.title, min(width, len(c.title)), st.more))}
	first := max(min(c.at-room/2, len(c.items)-room), 0)
	for i := first; i < min(first+room, len(c.items)); i++ {
		item := fit(c.items[i], min(width, boardWidth), st.more)
		if i == c.at {
			item = st.found.Render(item)
		}
		lines = append(lines, item)
	}
	return append(lines, st.shortHelp([]key.Binding{keys.choose, keys.dismiss}, min(width, boardWidth)))
}
