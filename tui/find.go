package tui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// newInput returns a line of input. Its cursor is a character of its own, which a
// terminal without colours shows too.
func newInput(t *theme, prompt string, limit int) textinput.Model {
	input := textinput.New()
	input.Prompt = prompt
	input.CharLimit = limit
	input.KeyMap.Paste.SetEnabled(false) // it would run a clipboard program; terminals paste as text
	input.Cursor.SetMode(cursor.CursorHide)
	mark := t.cursor
	input.Cursor.TextStyle = lipgloss.Style{}.Transform(func(under string) string { return mark + under })
	return input
}

// resizeInput fits an input to a width: a longer text scrolls.
func resizeInput(input *textinput.Model, width int) {
	input.Width = width - len(input.Prompt) - 2 // the cursor and the character under it
	at := input.Position()
	input.CursorEnd() // a narrower input scrolls only when the cursor moves out of it
	input.SetCursor(at)
}

// openFind starts the input of a user to find.
func (m *model) openFind() tea.Cmd {
	m.help = false
	m.search.Reset()
	return m.search.Focus()
}

// findKey handles a key while a user is entered. The cursor moves to the first row
// that matches what was typed.
func (m *model) findKey(msg tea.KeyMsg) tea.Cmd {
	switch msg.Type {
	case tea.KeyCtrlC:
		return tea.Quit
	case tea.KeyEsc:
		m.search.Blur()
	case tea.KeyEnter:
		m.search.Blur()
		if typed := m.search.Value(); typed != "" {
			if at := m.match(typed); at >= 0 {
				return m.openPlayer(m.board.rows[at].UserID)
			}
			return m.openPlayer(strings.ReplaceAll(typed, " ", ""))
		}
	default:
		msg.Runes = []rune(Printable(string(msg.Runes)))
		var cmd tea.Cmd
		m.search, cmd = m.search.Update(msg)
		if at := m.match(m.search.Value()); m.search.Value() != "" && at >= 0 {
			m.selectRow(at)
		}
		return cmd
	}
	return nil
}

// match returns the row of a user by id, else the first row with the text in its id or
// name; -1 if there is none.
func (pane *boardPane) match(typed string) int {
	if at := pane.board.find(typed); at >= 0 {
		return at
	}
	typed = strings.ToLower(typed)
	return slices.IndexFunc(pane.board.rows, func(r row) bool {
		return strings.Contains(strings.ToLower(r.UserID), typed) ||
			strings.Contains(strings.ToLower(Printable(r.DisplayName)), typed)
	})
}

// maxUserID is how much can be entered.
const maxUserID = scoreboard.MaxUserIDLength
