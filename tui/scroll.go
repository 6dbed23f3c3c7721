package tui

// window returns the rows that fit.
func (m *model) window(room int) []row {
	m.room = max(room, 0)
	m.scroll(0) // the board may be shorter now, or the screen taller
	return m.board.rows[m.first:min(m.first+m.room, len(m.board.rows))]
}

// scroll moves the window over a board with more rows than fit.
func (m *model) scroll(by int) {
	m.first = max(min(m.first+by, len(m.board.rows)-m.room), 0)
}

// hints returns the keys named in the footer.
func (m *model) hints() []string {
	hints := []string{"? help", "b board", "/ find", "p pause", "q quit"}
	if len(m.board.rows) > m.room {
		hints = append([]string{m.style.arrows + " scroll"}, hints...)
	}
	return hints
}
