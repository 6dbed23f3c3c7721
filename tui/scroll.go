package tui

// window is the part of the rows that there is room for.
func (m *model) window(room int) []row {
	m.room = max(room, 0)
	m.scroll(0) // the board may have become shorter, the screen higher
	return m.board.rows[m.first:min(m.first+m.room, len(m.board.rows))]
}

// scroll moves the window over a board with more rows than there is room for.
func (m *model) scroll(by int) {
	m.first = max(min(m.first+by, len(m.board.rows)-m.room), 0)
}

// hints are the keys that the footer names.
func (m *model) hints() []string {
	hints := []string{"? help", "b board", "/ search", "p pause", "q quit"}
	if len(m.board.rows) > m.room {
		hints = append([]string{m.style.arrows + " scroll"}, hints...)
	}
	return hints
}
