package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// bindings are the keys and their help.
var bindings = [][2]string{
	{"?", "toggle this help"},
	{"b", "switch board"},
	{"t", "switch period"},
	{"/", "find a user"},
	{"+ -", "more or fewer neighbours"},
	{"j k", "scroll (arrows, pgup, pgdn)"},
	{"p", "pause or resume"},
	{"y", "copy found user or board"},
	{"o", "toggle server status"},
	{"e", "toggle the feed"},
	{"esc", "close, clear"},
	{"q", "quit"},
}

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
	case m.searching:
		return m.searchKey(msg)
	case m.chooser != nil:
		return m.chooserKey(msg)
	}
	return m.boardKey(msg.String())
}

// boardKey handles a key on the board itself.
func (m *model) boardKey(key string) tea.Cmd {
	switch key {
	case "q", "ctrl+c":
		return tea.Quit
	case "?", "h":
		m.help = !m.help
	case "esc":
		m.help, m.found, m.notice = false, nil, ""
	case "p", " ":
		if m.paused = !m.paused; !m.paused {
			m.show()
		}
	case "/":
		m.help, m.searching, m.query = false, true, ""
	case "b":
		return m.list("")
	case "t":
		family, _, _ := strings.Cut(m.shown.Board, ":")
		return m.list(family)
	case "up", "k":
		m.scroll(-1)
	case "down", "j":
		m.scroll(1)
	case "pgup":
		m.scroll(-m.room)
	case "pgdown":
		m.scroll(m.room)
	case "+", "=":
		return m.setNeighbours(m.neighbours + 1)
	case "-":
		return m.setNeighbours(m.neighbours - 1)
	case "o":
		m.showStatus = !m.showStatus
	case "e":
		m.showFeed = !m.showFeed
	case "y":
		text := m.clipboardText()
		return func() tea.Msg { return copiedMsg{m.o.Copy(text)} }
	}
	return nil
}

// setNeighbours sets the number of neighbours shown on each side.
func (m *model) setNeighbours(k int) tea.Cmd {
	small := m.height < roomyHeight
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

// searchKey handles a key while a user id is entered.
func (m *model) searchKey(key tea.KeyMsg) tea.Cmd {
	switch key.Type {
	case tea.KeyCtrlC:
		return tea.Quit
	case tea.KeyEsc:
		m.searching = false
	case tea.KeyEnter:
		m.searching = false
		if m.query != "" {
			m.notice = "searching for " + m.query
			return m.find(m.query)
		}
	case tea.KeyBackspace:
		if m.query != "" {
			runes := []rune(m.query)
			m.query = string(runes[:len(runes)-1])
		}
	case tea.KeyRunes:
		if room := 64 - len(m.query); room > 0 { // the longest user id
			m.query += Printable(string(key.Runes))
			m.query = m.query[:min(len(m.query), 64)]
		}
	}
	return nil
}
