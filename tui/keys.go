package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// handleKey handles a key press. Over a slow connection several letters arrive in
// one message; it handles them one by one.
func (m *model) handleKey(msg tea.KeyMsg) tea.Cmd {
	if m.terminalAnswered(msg) {
		return nil
	}
	if msg.Type == tea.KeyRunes && len(msg.Runes) > 1 && !msg.Paste {
		var all []tea.Cmd
		for _, r := range msg.Runes {
			all = append(all, m.handleKey(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: msg.Alt}))
		}
		return tea.Batch(all...)
	}
	switch {
	case m.menu != nil:
		return m.menuKey(msg)
	case m.search.Focused():
		return m.findKey(msg)
	case m.chooser != nil:
		return m.chooserKey(msg)
	case m.queue != nil:
		return m.queueKey(msg)
	case m.player != nil:
		if cmd, handled := m.playerKey(msg); handled {
			return cmd
		}
	}
	return m.boardKey(msg)
}

// boardKey handles a key on the board itself.
func (m *model) boardKey(msg tea.KeyMsg) tea.Cmd {
	if m.reel != nil {
		if cmd, handled := m.playback.handleKey(msg); handled {
			return cmd
		}
	}
	switch {
	case key.Matches(msg, keys.quit):
		return tea.Quit
	case key.Matches(msg, keys.help):
		m.help = !m.help
	case key.Matches(msg, keys.close):
		m.finale.until = m.now()
		if m.help {
			m.help = false
		} else {
			m.selected = ""
		}
		m.notify("")
	case key.Matches(msg, keys.pause):
		if m.paused = !m.paused; !m.paused {
			return m.show()
		}
	case key.Matches(msg, keys.find):
		return m.openFind()
	case key.Matches(msg, keys.board):
		return m.list("")
	case key.Matches(msg, keys.period):
		family, _, _ := strings.Cut(m.shown.Board, ":")
		return m.list(family)
	case key.Matches(msg, keys.up):
		m.move(-1)
	case key.Matches(msg, keys.down):
		m.move(1)
	case key.Matches(msg, keys.pageUp):
		m.move(-m.room)
	case key.Matches(msg, keys.pageDown):
		m.move(m.room)
	case key.Matches(msg, keys.top):
		m.selectRow(0)
	case key.Matches(msg, keys.bottom):
		m.selectRow(len(m.board.rows) - 1)
	case key.Matches(msg, keys.open):
		if e, selected := m.selectedEntry(); selected {
			return m.openPlayer(e.UserID)
		}
		m.move(1)
	case key.Matches(msg, keys.me):
		return m.jumpToMe()
	case key.Matches(msg, keys.actions):
		m.help = false
		m.openMenu()
	case key.Matches(msg, keys.flags):
		return m.openQueue(flagQueue)
	case key.Matches(msg, keys.jobs):
		return m.openQueue(jobQueue)
	case key.Matches(msg, keys.letters):
		return m.openQueue(letterQueue)
	case key.Matches(msg, keys.status):
		m.showHealth = !m.showHealth
	case key.Matches(msg, keys.activity):
		m.showActivity = !m.showActivity
	case key.Matches(msg, keys.copy):
		text := m.clipboardText()
		return func() tea.Msg { return copiedMsg{m.o.Copy(text)} }
	}
	return nil
}

// playerKey handles a key on a player's page; others work as on the board.
func (m *model) playerKey(msg tea.KeyMsg) (cmd tea.Cmd, handled bool) {
	switch {
	case m.help:
		return nil, false
	case key.Matches(msg, keys.close):
		user := m.player.user
		m.player = nil
		if at := m.board.find(user); at >= 0 {
			m.selectRow(at)
		}
	case key.Matches(msg, keys.up):
		m.player.first = max(m.player.first-1, 0)
	case key.Matches(msg, keys.down):
		m.player.first++
	case key.Matches(msg, keys.top):
		m.player.first = 0
	case key.Matches(msg, keys.bottom):
		m.player.first = len(m.player.statement)
	case key.Matches(msg, keys.open), key.Matches(msg, keys.me), key.Matches(msg, keys.pageUp),
		key.Matches(msg, keys.pageDown):
	default:
		return nil, false
	}
	return nil, true
}

// jumpToMe selects the own row, or opens the own page if it is not on the screen's
// board.
func (m *model) jumpToMe() tea.Cmd {
	if m.me == nil {
		m.notify("you are not on this board")
		return nil
	}
	if at := m.board.find(m.me.UserID); at >= 0 {
		m.selectRow(at)
		return nil
	}
	return m.openPlayer(m.me.UserID)
}

// clipboardText returns the player, or else the board.
func (m *model) clipboardText() string {
	if p := m.player; p != nil && p.place != nil {
		return placeLine(p.place)
	}
	var b strings.Builder
	for i := range m.board.rows {
		r := &m.board.rows[i]
		fmt.Fprintf(&b, "%d\t%s\t%d", r.Rank, name(r.Entry, false), r.Score)
		if r.Subscore != nil {
			fmt.Fprintf(&b, "\t%d", *r.Subscore)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
