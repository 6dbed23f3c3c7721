package tui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// active is the status of a board that takes scores.
const active = "active"

// statusWords say what a board's status means for who watches it.
var statusWords = map[string]string{
	active: "takes scores again", "frozen": "is frozen: it takes no scores", "archived": "is archived: it takes no scores any more",
}

type (
	askBoardStatusMsg struct{}
	boardStatusMsg    struct {
		generation int
		status     string // "" when it could not be read
	}
)

// readBoardStatus asks whether the board takes scores, which its stream does
// not tell.
func (m *model) readBoardStatus() tea.Cmd {
	board, generation := m.watching, m.generation
	return m.ask(func(ctx context.Context) tea.Msg {
		status, err := m.o.BoardStatus(ctx, board)
		if err != nil {
			status = ""
		}
		return boardStatusMsg{generation, status}
	})
}

// stands takes in a board's status, and tells it where it is another one.
func (m *model) stands(msg boardStatusMsg) tea.Cmd {
	if msg.generation == m.generation && msg.status != "" {
		if was := m.boardStatus; msg.status != was && (was != "" || msg.status != active) {
			m.feed.add(m.now(), "the board "+statusWords[msg.status])
		}
		m.boardStatus = msg.status
	}
	return tea.Tick(refresh, func(time.Time) tea.Msg { return askBoardStatusMsg{} })
}
