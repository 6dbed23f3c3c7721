package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/scoreboard/scoreboard/client"
)

const (
	// The smallest supported screen: a header, ten rows, a footer.
	minWidth, minHeight = 40, 12
	// Screens from this size have panels.
	panelWidth, panelHeight = 60, 18
	// Screens from this width show health and activity beside the board.
	wideWidth = 110
	// minActivity is the minimum height of the activity below a short board.
	minActivity = 5
)

// View draws the screen. The program calls it after every message.
func (m *model) View() string {
	if !m.same || m.drawn == "" {
		m.drawn = m.draw()
	}
	return m.drawn
}

func (m *model) draw() string {
	switch {
	case m.width == 0 || m.ended:
		return ""
	case m.width < minWidth || m.height < minHeight:
		return fmt.Sprintf("too small: %dx%d,\nneeds %dx%d", m.width, m.height, minWidth, minHeight)
	}
	lines := append([]string{m.header.line()}, m.header.banners()...)
	panels := m.width >= panelWidth && m.height >= panelHeight
	if limit := m.height / 6; len(lines) > limit { // at least the header
		lines = lines[:max(limit, 1)]
	}
	body := m.height - len(lines) - 1
	switch {
	case m.player != nil && panels:
		lines = append(lines, m.playerView(m.width, body)...)
	case m.player != nil:
		lines = append(lines, m.smallPlayer(body)...)
	case !panels:
		lines = append(lines, m.smallBoard(body)...)
	case m.width >= wideWidth:
		lines = append(lines, m.wide(body)...)
	default:
		lines = append(lines, m.stacked(body)...)
	}
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	lines = append(lines[:m.height-1], m.footer())
	switch {
	case m.menu != nil:
		m.overlay(lines, m.menuView(m.width))
	case m.chooser != nil:
		m.overlay(lines, m.chooserView(m.width, m.height))
	case m.queue != nil:
		m.overlay(lines, m.queueView(m.width, m.height))
	case m.help:
		m.overlay(lines, m.helpPanel(m.width, m.height))
	}
	return strings.Join(lines, "\n")
}

// wide draws the board on the left, and health and activity on the right.
func (m *model) wide(height int) []string {
	right := min(max(m.width*3/8, 47), 72)
	var side []string
	if m.showHealth && m.status != nil {
		lines := m.healthPanel(right - 4)
		side = append(side, m.theme.panel("health", lines, right, len(lines)+2)...)
	}
	if room := height - len(side); m.showActivity && room >= 3 {
		side = append(side, m.activityPanel(right, room)...)
	}
	if len(side) == 0 {
		return m.boardPanel(m.width, height)
	}
	left := m.boardPanel(m.width-right-1, height)
	for i := range left {
		if i < len(side) {
			left[i] += " " + side[i]
		}
	}
	return left
}

// stacked draws the board, and below it the activity if the board is short.
func (m *model) stacked(height int) []string {
	var lines []string
	if m.showHealth && m.status != nil {
		lines = append(lines, m.healthLine(m.width))
		height--
	}
	need := 3 + max(len(m.board.rows), 1)
	if m.me != nil && m.board.find(m.me.UserID) < 0 {
		need += 2 + len(m.me.Neighbours)
	}
	if activity := height - need; m.showActivity && activity >= minActivity {
		lines = append(lines, m.boardPanel(m.width, need)...)
		return append(lines, m.activityPanel(m.width, activity)...)
	}
	return append(lines, m.boardPanel(m.width, height)...)
}

func (pane *boardPane) boardPanel(width, height int) []string {
	inner := width - 2
	own := pane.ownRows(inner, (height-3)/2)
	lines := append([]string{pane.headings(pane.layout(inner), inner)}, pane.rows(height-3-len(own), inner)...)
	for len(lines)+len(own) < height-2 {
		lines = append(lines, strings.Repeat(" ", inner))
	}
	lines = append(lines, own...)
	title := "standings"
	if n := len(pane.board.rows); n > pane.room && pane.room > 0 {
		title = fmt.Sprintf("standings %d-%d of %d", pane.first+1, pane.first+pane.room, n)
	}
	return pane.theme.snugPanel(title, lines, width, height)
}

// snugPanel is a panel whose lines touch its sides, because rows have a column for the
// cursor. They have the width of the panel without its sides: to measure styled lines
// again would cost more than to draw them.
func (t *theme) snugPanel(title string, lines []string, width, height int) []string {
	out := make([]string, 0, height)
	out = append(out, t.top(title, width))
	side := t.border.paint(t.box[5])
	for _, line := range lines[:max(min(len(lines), height-2), 0)] {
		out = append(out, side+line+side)
	}
	return append(out, t.bottom(width))
}

func (pane *boardPane) activityPanel(width, height int) []string {
	lines := pane.activity.lines(&pane.theme, height-2, width-4)
	if len(lines) == 0 {
		const hint = "overtakes, entries and exits appear here"
		lines = []string{pane.theme.dim.paint(fit(hint, width-4, pane.theme.more))}
	}
	return pane.theme.panel("events", lines, width, height)
}

// smallBoard draws rows alone.
func (pane *boardPane) smallBoard(height int) []string {
	own := pane.ownRows(pane.width, 1)
	lines := pane.rows(height-len(own), pane.width)
	for len(own) > 0 && len(lines)+len(own) < height {
		lines = append(lines, "")
	}
	return append(lines, own...)
}

// smallPlayer draws a player's page without a frame.
func (pane *playerPane) smallPlayer(height int) []string {
	page := pane.playerView(pane.width+4, height+1)
	title := pane.theme.strong.paint(fit(pane.playerTitle(), pane.width, pane.theme.more))
	lines := append(make([]string, 0, height), title)
	for _, line := range page[1 : len(page)-1] {
		lines = append(lines, strings.TrimRight(ansi.Cut(line, 2, pane.width+2), " "))
	}
	return lines
}

// footer shows the input, a toast, or the keys.
func (m *model) footer() string {
	th := &m.theme
	switch {
	case m.search.Focused():
		return fit(" "+m.search.View(), m.width, th.more)
	case m.toast != "":
		return th.warn.paint(ansi.Truncate(" "+Printable(m.toast), m.width, th.more))
	}
	return " " + th.shortHelp(m.ShortHelp(), m.width-1)
}

func placeLine(p *client.Place) string {
	return fmt.Sprintf("%s is %s of %s, %s", p.UserID, ordinal(p.Rank), grouped(p.Total), pointsOf(p))
}

// overlay draws a box over the middle of the lines.
func (m *model) overlay(lines, box []string) {
	width := cells(box[0])
	top, left := max((len(lines)-len(box))/2, 0), max((m.width-width)/2, 0)
	for i, b := range box {
		if top+i >= len(lines) {
			break
		}
		under := pad(lines[top+i], m.width)
		lines[top+i] = ansi.Truncate(under, left, "") + b + ansi.TruncateLeft(under, left+width, "")
	}
}

// spread aligns two texts to the ends of a line and truncates the left one.
func spread(left, right string, width int, more string) string {
	room := width - cells(right) - 1
	if room < 0 {
		return ansi.Truncate(right, width, "")
	}
	return fit(left, room, more) + " " + right
}

func plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(int64(n)) + " " + noun + "s"
}
