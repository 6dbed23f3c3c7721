package tui

import (
	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// newSearch returns the input of the user id to find. Its cursor is a character of
// its own, which a terminal without colours shows too.
func newSearch(st *style) textinput.Model {
	input := textinput.New()
	input.Prompt = "search: "
	input.CharLimit = scoreboard.MaxUserIDLength
	input.KeyMap.Paste.SetEnabled(false) // it would run a clipboard program; terminals paste as text
	input.Cursor.SetMode(cursor.CursorHide)
	mark := st.cursor
	input.Cursor.TextStyle = lipgloss.Style{}.Transform(func(under string) string { return mark + under })
	return input
}

// resizeSearch fits the input to the screen: a longer text scrolls.
func (m *model) resizeSearch() {
	m.search.Width = m.width - len(m.search.Prompt) - 2 // the cursor and the character under it
	at := m.search.Position()
	m.search.CursorEnd() // a narrower input scrolls only when the cursor moves out of it
	m.search.SetCursor(at)
}

// openSearch starts the input of a user id.
func (m *model) openSearch() tea.Cmd {
	m.help = false
	m.search.Reset()
	return m.search.Focus()
}

// searchKey handles a key while a user id is entered.
func (m *model) searchKey(msg tea.KeyMsg) tea.Cmd {
	switch msg.Type {
	case tea.KeyCtrlC:
		return tea.Quit
	case tea.KeyEsc:
		m.search.Blur()
	case tea.KeyEnter:
		m.search.Blur()
		if user := m.search.Value(); user != "" {
			m.notice = "searching for " + user
			return m.find(user)
		}
	case tea.KeySpace: // no user id has one
	default:
		msg.Runes = []rune(Printable(string(msg.Runes)))
		var cmd tea.Cmd
		m.search, cmd = m.search.Update(msg)
		return cmd
	}
	return nil
}
