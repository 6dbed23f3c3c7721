package tui

import (
	"math"
	"strings"

	"github.com/scoreboard/scoreboard/client"
)

// layout is the width of each column; 0 omits it.
type layout struct{ rank, move, name, score, gained, gap, trend, bar int }

// Minimum widths of names and bars.
const (
	minName = 14
	minBar  = 8
)

// layout divides the width: names and scores first, then changes, gaps and bars,
// each while it fits.
func (m *model) layout() layout {
	l := layout{rank: 3, move: 4, score: 5}
	gained, gap := 8, 8 // at least as wide as their content: numbers are not truncated
	widen := func(e client.Entry) {
		l.rank = max(l.rank, len(grouped(e.Rank)))
		l.score = max(l.score, len(grouped(e.Score)))
	}
	for i := range m.board.rows {
		r := &m.board.rows[i]
		widen(r.Entry)
		gained = max(gained, len(signed(r.Score-r.previousScore)))
		gap = max(gap, len(grouped(-r.gap)))
	}
	if m.height >= largeHeight { // small screens do not show these as rows
		if m.me != nil {
			widen(client.Entry{Rank: m.me.Rank, Score: m.me.Score})
			for _, e := range m.me.Neighbours {
				widen(e)
			}
		}
	}
	for _, e := range m.aroundFound() {
		widen(e)
	}
	rest := m.width - l.rank - l.move - l.score - 4 // the spaces and the own mark
	take := func(width int) int {
		if rest-width-1 < minName {
			return 0
		}
		rest -= width + 1
		return width
	}
	if m.width >= 56 {
		l.gained = take(gained)
	}
	if m.width >= 72 {
		l.gap = take(max(l.score, gap))
	}
	if m.width >= 90 {
		l.trend = take(trendSlots)
	}
	l.name = max(rest, 1)
	if m.width >= 60 && rest >= minName+1+minBar {
		l.name = min(max(rest/3, minName), 32)
		l.bar = rest - l.name - 1
	}
	return l
}

func (m *model) headings(l layout) string {
	var b strings.Builder
	b.WriteString(
		fitRight("#", l.rank) + " " + fit("", l.move, "") + fit("user", l.name, "") + " " + fitRight("score", l.score),
	)
	if l.gained > 0 {
		b.WriteString(" " + fit("", l.gained, ""))
	}
	if l.gap > 0 {
		b.WriteString(" " + fitRight("gap", l.gap))
	}
	if l.trend > 0 {
		b.WriteString("   " + fit("last minute", l.trend, ""))
	}
	return b.String()
}

// rows draws the rows that fit.
func (m *model) rows(room int) []string {
	l := m.layout()
	var lines []string
	for i := range m.window(room) {
		lines = append(lines, m.line(&m.board.rows[m.first+i], l))
	}
	if len(lines) == 0 && room > 0 {
		text := "waiting for the board"
		if m.shown.Version > 0 || len(m.shown.Degraded) > 0 {
			text = "no users on this board yet"
		}
		lines = append(lines, m.style.dim.Render(fit(text, m.width, m.style.more)))
	}
	return lines
}

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

func (m *model) line(r *row, l layout) string {
	st, now := &m.style, m.now()
	flashing := recent(r.changed, now)
	own := m.me != nil && r.UserID == m.me.UserID
	searched := m.found != nil && r.UserID == m.found.UserID

	user := fit(name(r.Entry, st.ascii), l.name, st.more)
	score := grouped(r.Score)
	switch {
	case searched:
		user = st.found.Render(user)
	case own:
		user = st.own.Render(user)
	}
	if flashing {
		score = st.flash.Render(score)
	}
	parts := []string{
		st.dim.Render(fitRight(grouped(r.Rank), l.rank)) + " " + m.movement(r, l.move) + user,
		fitRight(score, l.score),
	}
	if l.gained > 0 {
		gained := ""
		if flashing {
			gained = st.flash.Render(signed(r.Score - r.previousScore))
		}
		parts = append(parts, fit(gained, l.gained, ""))
	}
	if l.gap > 0 {
		gap := ""
		if r.gap > 0 {
			gap = grouped(-r.gap)
		}
		parts = append(parts, st.dim.Render(fitRight(gap, l.gap)))
	}
	line := strings.Join(parts, " ")
	if own {
		line += " " + st.own.Render(st.ownMark)
	} else {
		line += "  "
	}
	if l.trend > 0 {
		line += " " + st.up.Render(fit(r.trend.line(st, now), l.trend, ""))
	}
	if l.bar > 0 {
		line += " " + st.bar.Render(m.bar(r.Score, l.bar))
	}
	return strings.TrimRight(line, " ")
}

// movement shows the ranks gained or lost recently.
func (m *model) movement(r *row, width int) string {
	st := &m.style
	if !recent(r.moved, m.now()) {
		return fit("", width, "")
	}
	switch n := r.previousRank - r.Rank; {
	case r.isNew():
		return st.added.Render(fit("new", width, ""))
	case n > 0:
		return st.up.Render(fit(st.upMark+grouped(n), width, ""))
	case n < 0:
		return st.down.Render(fit(st.downMark+grouped(-n), width, ""))
	}
	return fit("", width, "")
}

// bar draws a score relative to the best.
func (m *model) bar(score int64, width int) string {
	var longest int64
	for i := range m.board.rows {
		longest = max(longest, m.board.rows[i].Score)
	}
	if longest <= 0 || score <= 0 {
		return ""
	}
	steps := len(m.style.bars)
	n := int(math.Round(min(float64(score)/float64(longest), 1) * float64(width*steps)))
	text := strings.Repeat(m.style.bars[steps-1], n/steps)
	if part := n % steps; part > 0 {
		text += m.style.bars[part-1]
	}
	return text
}
