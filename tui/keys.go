package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// handleKey handles a key press. Over a slow connection several letters arrive in
// one message; it handles them one by one.
func (m *model) handleKey(msg tea.KeyMsg) tea.Cmd {
	if msg.Type == tea.KeyRunes && len(msg.Runes) > 1 && !msg.Paste {
		var all []tea.Cmd
		for _, r := range msg.Runes {
			all = append(all, m.handleKey(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: msg.Alt}))
		}
		return tea.Batch(all...)
	}
	switch {
	case m.search.Focused():
		return m.searchKey(msg)
	case m.chooser != nil:
		return m.chooserKey(msg)
	}
	return m.boardKey(msg)
}

// boardKey handles a key on the board itself.
func (m *model) boardKey(msg tea.KeyMsg) tea.Cmd {
	switch {
	case key.Matches(msg, keys.quit):
		return tea.Quit
	case key.Matches(msg, keys.help):
		m.help = !m.help
	case key.Matches(msg, keys.close):
		m.help, m.found, m.notice = false, nil, ""
	case key.Matches(msg, keys.pause):
		if m.paused = !m.paused; !m.paused {
			m.show()
		}
	case key.Matches(msg, keys.find):
		return m.openSearch()
	case key.Matches(msg, keys.board):
		return m.list("")
	case key.Matches(msg, keys.period):
		family, _, _ := strings.Cut(m.shown.Board, ":")
		return m.list(family)
	case key.Matches(msg, keys.up):
		m.scroll(-1)
	case key.Matches(msg, keys.down):
		m.scroll(1)
	case key.Matches(msg, keys.pageUp):
		m.scroll(-m.room)
	case key.Matches(msg, keys.pageDown):
		m.scroll(m.room)
	case key.Matches(msg, keys.more):
		return m.setNeighbours(m.neighbours + 1)
	case key.Matches(msg, keys.fewer):
		return m.setNeighbours(m.neighbours - 1)
	case key.Matches(msg, keys.status):
		m.showStatus = !m.showStatus
	case key.Matches(msg, keys.feed):
		m.showFeed = !m.showFeed
	case key.Matches(msg, keys.copy):
		text := m.clipboardText()
		return func() tea.Msg { return copiedMsg{m.o.Copy(text)} }
	}
	return nil
}

// setNeighbours sets the number of neighbours shown on each side.
func (m *model) setNeighbours(k int) tea.Cmd {
	small := m.height < largeHeight
	switch {
	case small && m.found == nil: // a small screen shows no neighbours of the own row
		m.notice = "/ finds a user, + shows neighbours"
		return nil
	case small && k > m.maxAround():
		m.notice = "no room for more neighbours here"
		return nil
	}
	m.neighbours = min(max(k, 0), maxNeighbours)
	m.notice = plural(m.neighbours, "neighbour") + " on each side"
	if m.found != nil {
		return m.find(m.found.UserID)
	}
	return nil
}

// clipboardText returns the found user, or else the board.
func (m *model) clipboardText() string {
	if m.found != nil {
		return placeLine(m.found)
	}
	var b strings.Builder
	for i := range m.board.rows {
		r := &m.board.rows[i]
		fmt.Fprintf(&b, "%d\t%s\t%d\n", r.Rank, name(r.Entry, false), r.Score)
	}
	return b.String()
}
