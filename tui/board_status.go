package tui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// active is the status of a board that accepts scores.
const active = "active"

// statusWords describe a board's status.
var statusWords = map[string]string{
	active:     "accepts scores again",
	"frozen":   "is frozen and accepts no scores",
	"archived": "is archived and accepts no scores",
}

type (
	readBoardStatusMsg struct{}
	boardStatusMsg     struct {
		generation int
		status     string // empty: not available
	}
)

// readBoardStatus reads the board's status, which its stream does not contain.
func (m *model) readBoardStatus() tea.Cmd {
	board, generation := m.watching, m.generation
	return m.request(func(ctx context.Context) tea.Msg {
		status, err := m.o.BoardStatus(ctx, board)
		if err != nil {
			status = ""
		}
		return boardStatusMsg{generation, status}
	})
}

// setBoardStatus stores the board's status and reports a change in the feed.
func (m *model) setBoardStatus(msg boardStatusMsg) tea.Cmd {
	if msg.generation == m.generation && msg.status != "" {
		if was := m.boardStatus; msg.status != was && (was != "" || msg.status != active) {
			m.feed.add(m.now(), "the board "+statusWords[msg.status])
		}
		m.boardStatus = msg.status
	}
	return tea.Tick(refresh, func(time.Time) tea.Msg { return readBoardStatusMsg{} })
}
