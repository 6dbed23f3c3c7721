package tui

import "github.com/scoreboard/scoreboard/client"

// The cursor stays on a user, not on a place: while rows move, enter and the actions
// mean the user that was selected.

// scroll moves the window over a board with more rows than fit.
func (m *model) scroll(by int) {
	m.first = max(min(m.first+by, len(m.board.rows)-m.room), 0)
}

// move moves the cursor by rows. The first move selects the first row on the screen.
func (m *model) move(by int) {
	if len(m.board.rows) == 0 {
		return
	}
	at := m.board.find(m.selected)
	if at < 0 {
		at, by = m.first, by-sign(by)
	}
	m.selectRow(at + by)
}

// selectRow moves the cursor to a row and scrolls to it.
func (m *model) selectRow(at int) {
	if len(m.board.rows) == 0 {
		return
	}
	at = min(max(at, 0), len(m.board.rows)-1)
	m.selected, m.cursorAt = m.board.rows[at].UserID, at
	if at < m.first {
		m.first = at
	} else if at >= m.first+m.room {
		m.first = at - m.room + 1
	}
	m.scroll(0)
}

// keepCursor follows the selected user to a new place. If the user is gone, the cursor
// stays at its place.
func (m *model) keepCursor() {
	if m.selected == "" {
		return
	}
	if at := m.board.find(m.selected); at >= 0 {
		if m.cursorAt >= m.first && m.cursorAt < m.first+m.room { // it was visible
			m.selectRow(at)
		}
		m.cursorAt = at
		return
	}
	m.selected = ""
	m.selectRow(m.cursorAt)
}

// selectedEntry returns the entry under the cursor.
func (m *model) selectedEntry() (client.Entry, bool) {
	if at := m.board.find(m.selected); m.selected != "" && at >= 0 {
		return m.board.rows[at].Entry, true
	}
	return client.Entry{}, false
}

func sign(n int) int {
	switch {
	case n > 0:
		return 1
	case n < 0:
		return -1
	}
	return 0
}
