package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"github.com/scoreboard/scoreboard/client"
)

// The smallest supported screen: a header, ten rows, a footer.
const (
	minWidth  = 40
	minHeight = 12
	// Screens from this height have rules, headings and separate lines for what
	// a small screen shows in its footer.
	largeHeight = 18
	// Lines that the feed leaves to the rows, and gets next to a long board.
	minRows, minFeed = 10, 6
	// Rows that a found user leaves to the board on a small screen.
	minSmallRows = 3
)

func (m *model) View() string {
	switch {
	case m.width == 0 || m.ended:
		return ""
	case m.width < minWidth || m.height < minHeight:
		return fmt.Sprintf("too small: %dx%d,\nneeds %dx%d", m.width, m.height, minWidth, minHeight)
	}
	var lines []string
	if m.height < largeHeight {
		lines = m.small()
	} else {
		lines = m.large()
	}
	screen := strings.Join(lines, "\n")
	switch {
	case m.chooser != nil:
		return m.overlay(screen, m.chooser.view(&m.style, m.height-6, m.width-8))
	case m.help:
		return m.overlay(screen, m.helpText())
	}
	return screen
}

func (m *model) small() []string {
	l, around := m.layout(), m.aroundFound()
	lines := append([]string{m.header()}, m.rows(m.height-2-len(around))...)
	lines = m.fill(lines, 1+len(around))
	for _, e := range around {
		r := row{Entry: e, previousRank: e.Rank}
		lines = append(lines, m.line(&r, l))
	}
	return append(lines, m.footer())
}

func (m *model) large() []string {
	l := m.layout()
	rule := m.style.dim.Render(strings.Repeat(m.style.rule, m.width))
	lines := []string{m.header()}
	if panel := m.panel(); len(panel) > 0 && m.height >= largeHeight+4+len(panel) {
		lines = append(append(lines, rule), panel...)
	}
	lines = append(lines, rule, m.style.dim.Render(m.headings(l)))
	below := m.below(l)
	room := m.height - len(lines) - len(below) - 2
	if m.showFeed && room > minRows+minFeed {
		room -= minFeed // keep some lines for the feed
	}
	lines = append(lines, m.rows(room)...)
	lines = append(lines, rule)
	lines = append(lines, below...)
	if room := m.height - len(lines) - 2; m.showFeed && room > 0 && len(m.feed.events) > 0 {
		if len(below) > 0 {
			lines = append(lines, rule)
		}
		lines = append(lines, m.feed.lines(&m.style, room, m.width)...)
	}
	lines = m.fill(lines, 1)
	return append(lines, m.footer())
}

// fill pads the lines up to the last ones at the bottom.
func (m *model) fill(lines []string, last int) []string {
	for len(lines) < m.height-last {
		lines = append(lines, "")
	}
	return lines
}

// header shows the board and how current the data is.
func (m *model) header() string {
	s, st := &m.shown, &m.style
	board := s.Board
	if board == "" {
		board = "scoreboard"
	}
	left := st.title.Render(fit(board, min(ansi.StringWidth(board), m.width/3), st.more))
	if s.Version > 0 {
		left += st.dim.Render(fmt.Sprintf(" v%d", s.Version))
		if m.width >= 60 {
			left += st.dim.Render(fmt.Sprintf(" epoch %d", s.Epoch))
		}
	}
	if m.boardStatus != "" && m.boardStatus != active {
		left += " " + st.warn.Render(Printable(m.boardStatus))
	}
	if m.paused {
		left += " " + st.warn.Render("paused")
	}
	dot := st.problem
	switch s.Connection {
	case client.WebSocket, client.SSE:
		dot = st.good
	case client.Polling:
		dot = st.warn
	}
	connection := string(s.Connection)
	if connection == "" {
		connection = "connecting"
	}
	right := dot.Render(st.dot) + " " + connection
	if !s.HeardAt.IsZero() {
		old := age(m.now().Sub(s.HeardAt))
		if m.width >= 60 {
			old += " old"
		}
		right += st.between + old
	}
	if m.width >= 60 {
		right += st.between + plural(s.Reconnects, "reconnect")
	} else if s.Reconnects > 0 {
		right += fmt.Sprintf("%s%dx", st.between, s.Reconnects)
	}
	return spread(left, right, m.width, st.more)
}

// footer shows a problem, or the keys.
func (m *model) footer() string {
	st := &m.style
	if m.search.Focused() {
		return fit(m.search.View(), m.width, st.more)
	}
	if m.height < largeHeight {
		if problem := m.problem(); problem != "" {
			return problem
		}
		if m.found != nil {
			return fit(placeLine(m.found), m.width, st.more)
		}
		if m.me != nil && !m.onScreen(m.me.UserID) {
			return st.own.Render(fit("you: "+placeLine(m.me), m.width, st.more))
		}
	}
	return st.shortHelp(m.ShortHelp(), m.width)
}

// problem returns the most important problem, or an empty string.
func (m *model) problem() string {
	s, st := &m.shown, &m.style
	text := ""
	switch {
	case m.notice != "":
		return st.warn.Render(ansi.Truncate(Printable(m.notice), m.width, st.more))
	case s.Connection == client.Disconnected && s.Err != nil:
		text = m.o.Explain(s.Err) + "; reconnecting" // the cause first: a narrow screen truncates
	case s.Degraded != "":
		text = "degraded: " + s.Degraded
	default:
		return ""
	}
	return st.problem.Render(fit(Printable(text), m.width, st.more))
}

// below returns the lines below the rows on a large screen: own row, found user,
// problem.
func (m *model) below(l layout) []string {
	var lines []string
	if m.me != nil && !m.onScreen(m.me.UserID) {
		own := client.Entry{Rank: m.me.Rank, UserID: m.me.UserID, Score: m.me.Score}
		around := m.me.Neighbours
		if len(around) == 0 {
			around = []client.Entry{own}
		}
		for _, e := range around {
			r := row{Entry: e, previousRank: e.Rank}
			lines = append(lines, m.line(&r, l))
		}
	}
	if m.found != nil {
		lines = append(lines, fit(placeLine(m.found), m.width, m.style.more))
		for _, e := range m.aroundFound() {
			r := row{Entry: e, previousRank: e.Rank}
			lines = append(lines, m.line(&r, l))
		}
	}
	if problem := m.problem(); problem != "" {
		lines = append(lines, problem)
	}
	return lines
}

// aroundFound returns the found user with the neighbours that are shown.
func (m *model) aroundFound() []client.Entry {
	if m.found == nil {
		return nil
	}
	all, k := m.found.Neighbours, m.maxAround()
	at := slices.IndexFunc(all, func(e client.Entry) bool { return e.UserID == m.found.UserID })
	return all[max(at-k, 0):max(min(at+k+1, len(all)), 0)]
}

// maxAround returns how many neighbours fit on each side: a small screen also keeps
// the first rows of the board.
func (m *model) maxAround() int {
	if m.height < largeHeight {
		return min((m.height-2-minSmallRows-1)/2, maxNeighbours)
	}
	return maxNeighbours
}

func placeLine(p *client.Place) string {
	return fmt.Sprintf("%s is %s of %s, %s", p.UserID, ordinal(p.Rank), grouped(p.Total), plural(p.Score, "point"))
}

// overlay draws a box over the middle of the screen.
func (m *model) overlay(screen string, text []string) string {
	st := &m.style
	box := strings.Split(st.box.Render(strings.Join(text, "\n")), "\n")
	lines := strings.Split(screen, "\n")
	width := lipgloss.Width(box[0])
	top, left := max((len(lines)-len(box))/2, 0), max((m.width-width)/2, 0)
	for i, b := range box {
		if top+i >= len(lines) {
			break
		}
		under := lines[top+i]
		under += strings.Repeat(" ", max(m.width-ansi.StringWidth(under), 0))
		lines[top+i] = ansi.Truncate(under, left, "") + b + ansi.TruncateLeft(under, left+width, "")
	}
	return strings.Join(lines, "\n")
}

// spread aligns two texts to the ends of a line and truncates the left one.
func spread(left, right string, width int, more string) string {
	room := width - ansi.StringWidth(right) - 1
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

func recent(t, now time.Time) bool { return !t.IsZero() && now.Sub(t) < fade }
