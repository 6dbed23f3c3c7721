package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// bindings are the keys of the screen, as the help lists them.
var bindings = [][2]string{
	{"?", "this help"},
	{"b", "another board"},
	{"t", "another period"},
	{"/", "search a user"},
	{"+ -", "more or fewer neighbours"},
	{"j k", "scroll (arrows, pgup, pgdn)"},
	{"p", "pause and go on"},
	{"y", "copy what is found, or the board"},
	{"o", "how the server feels, or not"},
	{"e", "what happened, or not"},
	{"esc", "close, clear"},
	{"q", "quit"},
}

// keys takes a key, or several letters that came in one piece, as they do over
// a slow line, one after the other.
func (m *model) keys(msg tea.KeyMsg) tea.Cmd {
	if msg.Type == tea.KeyRunes && len(msg.Runes) > 1 && !msg.Paste {
		var all []tea.Cmd
		for _, r := range msg.Runes {
			all = append(all, m.keys(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: msg.Alt}))
		}
		return tea.Batch(all...)
	}
	switch {
	case m.searching:
		return m.typed(msg)
	case m.chooser != nil:
		return m.choosing(msg)
	}
	return m.pressed(msg.String())
}

func (m *model) pressed(key string) tea.Cmd {
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
		return m.around(m.neighbours + 1)
	case "-":
		return m.around(m.neighbours - 1)
	case "o":
		m.pulse = !m.pulse
	case "e":
		m.news = !m.news
	case "y":
		text := m.copied()
		return func() tea.Msg { return copiedMsg{m.o.Copy(text)} }
	}
	return nil
}

// around shows so many neighbours from now on.
func (m *model) around(k int) tea.Cmd {
	small := m.height < roomyHeight
	switch {
	case small && m.found == nil: // the own row has no neighbours here
		m.notice = "/ searches a user, + shows neighbours"
		return nil
	case small && k > m.mostAround():
		m.notice = "no room for more neighbours here"
		return nil
	}
	m.neighbours = min(max(k, 0), mostNeighbours)
	m.notice = plural(m.neighbours, "neighbour") + " on each side"
	if m.found != nil {
		return m.find(m.found.UserID)
	}
	return nil
}

// copied is what a person would paste: the user who was found, else the board.
func (m *model) copied() string {
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

// typed takes a key while a user's id is being entered.
func (m *model) typed(key tea.KeyMsg) tea.Cmd {
	switch key.Type {
	case tea.KeyCtrlC:
		return tea.Quit
	case tea.KeyEsc:
		m.searching = false
	case tea.KeyEnter:
		m.searching = false
		if m.query != "" {
			m.notice = "looking for " + m.query
			return m.find(m.query)
		}
	case tea.KeyBackspace:
		if m.query != "" {
			runes := []rune(m.query)
			m.query = string(runes[:len(runes)-1])
		}
	case tea.KeyRunes:
		if room := 64 - len(m.query); room > 0 { // no user id is longer
			m.query += Printable(string(key.Runes))
			m.query = m.query[:min(len(m.query), 64)]
		}
	}
	return nil
}
