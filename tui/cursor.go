package tui

import "github.com/scoreboard/scoreboard/client"

// The cursor stays on a user, not on a place: while rows move, enter and the actions
// mean the user that was selected.

// scroll moves the window over a board with more rows than fit.
func (pane *boardPane) scroll(by int) {
	pane.first = max(min(pane.first+by, len(pane.board.rows)-pane.room), 0)
}

// move moves the cursor by rows. The first move selects the first row on the screen.
func (pane *boardPane) move(by int) {
	if len(pane.board.rows) == 0 {
		return
	}
	at := pane.board.find(pane.selected)
	if at < 0 {
		at, by = pane.first, by-sign(by)
	}
	pane.selectRow(at + by)
}

// selectRow moves the cursor to a row and scrolls to it.
func (pane *boardPane) selectRow(at int) {
	if len(pane.board.rows) == 0 {
		return
	}
	at = min(max(at, 0), len(pane.board.rows)-1)
	pane.selected, pane.cursorAt = pane.board.rows[at].UserID, at
	if at < pane.first {
		pane.first = at
	} else if at >= pane.first+pane.room {
		pane.first = at - pane.room + 1
	}
	pane.scroll(0)
}

// keepCursor follows the selected user to a new place. If the user is gone, the cursor
// stays at its place.
func (pane *boardPane) keepCursor() {
	if pane.selected == "" {
		return
	}
	if at := pane.board.find(pane.selected); at >= 0 {
		if pane.cursorAt >= pane.first && pane.cursorAt < pane.first+pane.room { // it was visible
			pane.selectRow(at)
		}
		pane.cursorAt = at
		return
	}
	pane.selected = ""
	pane.selectRow(pane.cursorAt)
}

// selectedEntry returns the entry under the cursor.
func (pane *boardPane) selectedEntry() (client.Entry, bool) {
	if at := pane.board.find(pane.selected); pane.selected != "" && at >= 0 {
		return pane.board.rows[at].Entry, true
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
