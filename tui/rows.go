package tui

import (
	"math"
	"strings"

	"github.com/scoreboard/scoreboard/client"
)

// boardPane is the board that is watched or played back: its rows, its events and the
// cursor on it.
type boardPane struct {
	*shared
	*watched
	reel *reel // nil: the board is live

	newest   client.State // the latest received
	shown    client.State // the one on the screen: older while paused
	board    board
	activity activity
	widest   int // name so far: columns stay in place while users come and go
	first    int // row on the screen
	room     int // rows that fit, as last drawn
	paused   bool
	hectic   bool // many scores changed in the state shown

	selected string // user under the cursor; empty: none
	cursorAt int    // the place of the selected user

	info   client.Board // Status is empty while unknown
	finale finale
	me     *client.Place
	flags  map[string]int64 // open flags by user
}

// layout is the width of each column; 0 omits it.
type layout struct{ rank, move, name, score, sub, gained, gap, trend, bar int }

const (
	minName, maxName = 8, 32
	minBar           = 6
)

// width is that of a line.
func (l *layout) width() int {
	w := 1 + l.rank + 1 + l.move + 1 + l.name + 1 + l.score
	for _, column := range []int{l.sub, l.gained, l.gap, l.trend, l.bar} {
		if column > 0 {
			w += 2 + column
		}
	}
	return w
}

// layout divides a width: names and scores first, in full if possible, then subscores, changes,
// gaps, the trend, and what remains to the bars.
func (pane *boardPane) layout(width int) layout {
	l := layout{rank: 3, move: 3, score: 5}
	sub, gained, gap := 0, 6, 5 // at least as wide as their content: numbers are not truncated
	widen := func(e client.Entry, label string) {
		l.rank = max(l.rank, len(grouped(e.Rank)))
		l.score = max(l.score, len(grouped(e.Score)))
		sub = max(sub, len(subscore(&e)))
		pane.widest = max(pane.widest, cells(label))
	}
	for i := range pane.board.rows {
		r := &pane.board.rows[i]
		widen(r.Entry, pane.label(r.Entry))
		gained = max(gained, len(signed(r.Score-r.previousScore)))
		gap = max(gap, len(grouped(-r.gap)))
	}
	if pane.me != nil {
		widen(client.Entry{Rank: pane.me.Rank, Score: pane.me.Score, Subscore: pane.me.Subscore},
			pane.label(client.Entry{UserID: pane.me.UserID}))
		for _, e := range pane.me.Neighbours {
			widen(e, pane.label(e))
		}
	}
	// Cursor, tie mark, and the spaces before the name and the score.
	rest := width - 1 - l.rank - 2 - l.move - 1 - l.score
	natural := min(max(pane.widest, minName), max(width*3/10, 18), maxName)
	take := func(wide int) int {
		if rest-wide-2 < natural {
			return 0
		}
		rest -= wide + 2
		return wide
	}
	if sub > 0 && width >= 40 {
		l.sub = take(sub)
	}
	if width >= 52 {
		l.gained = take(gained)
	}
	if width >= 60 {
		l.gap = take(gap)
	}
	if width >= 66 && pane.reel == nil { // steps of the past are longer than the trend's
		l.trend = take(trendSlots)
	}
	l.name = max(min(natural, rest), 1)
	if rest -= l.name; rest >= minBar+2 {
		l.bar = rest - 2
	}
	return l
}

// label is the text in the name column.
func (pane *boardPane) label(e client.Entry) string {
	text := name(e, pane.theme.ascii)
	if pane.flags[e.UserID] > 0 {
		text += " " + pane.theme.flag
	}
	if pane.isMe(e.UserID) {
		text += " (you)"
	}
	return text
}

// entryOf returns the entry of a user on the screen, or one with the user only.
func (pane *boardPane) entryOf(user string) client.Entry {
	if at := pane.board.find(user); at >= 0 {
		return pane.board.rows[at].Entry
	}
	return client.Entry{UserID: user}
}

func (pane *boardPane) isMe(user string) bool { return pane.me != nil && user == pane.me.UserID }

func (pane *boardPane) headings(l layout, width int) string {
	parts := []string{
		" " + fitRight("#", l.rank) + " " + fit("", l.move, "") + " " + fit("player", l.name, "") + " " +
			fitRight("score", l.score),
	}
	if l.sub > 0 {
		parts = append(parts, fit("", l.sub, ""))
	}
	if l.gained > 0 {
		parts = append(parts, fit("", l.gained, ""))
	}
	if l.gap > 0 {
		parts = append(parts, fitRight("gap", l.gap))
	}
	if l.trend > 0 {
		parts = append(parts, fit("last minute", l.trend, ""))
	}
	return pane.theme.dim.paint(fit(strings.Join(parts, "  "), width, pane.theme.more))
}

// rows draws the rows that fit.
func (pane *boardPane) rows(room, width int) []string {
	l := pane.layout(width)
	pane.room = max(room, 0)
	pane.scroll(0) // the board may be shorter now, or the screen taller
	order := pane.inMotion()
	var lines []string
	for i, r := range order[pane.first:min(pane.first+pane.room, len(order))] {
		// The ranks stand still while users move past them: never is one above a better one.
		line := pane.line(r, pane.board.rows[pane.first+i].Rank, l) + strings.Repeat(" ", max(width-l.width(), 0))
		if r.UserID == pane.selected {
			line = pane.theme.onSelected(line)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 && room > 0 {
		text := "waiting for the board"
		if !pane.shown.HeardAt.IsZero() || pane.shown.Version > 0 || pane.shown.Degraded != "" {
			text = "no players yet: the first score appears here"
		}
		lines = append(lines, pane.theme.dim.paint(fit(" "+text, width, pane.theme.more)))
	}
	return lines
}

// line draws a user at the place of a rank.
func (pane *boardPane) line(r *row, rank int64, l layout) string {
	th, now := &pane.theme, pane.now()
	ofRank, ofName := th.dim, ink{}
	if rank >= 1 && rank <= int64(len(th.podium)) {
		ofRank = th.podium[rank-1]
		ofName = ofRank
	}
	if pane.isMe(r.UserID) {
		ofName = th.own
	}
	cursor, tie := " ", " "
	if r.UserID == pane.selected {
		cursor = th.key.paint(th.mark)
	}
	if r.tied {
		tie = th.dim.paint(th.tie)
	}
	ofScore := pane.scoreInk(r)
	parts := []string{
		cursor + ofRank.paint(fitRight(grouped(rank), l.rank)) + tie + pane.movement(r, l.move) + " " +
			ofName.paint(fit(pane.label(r.Entry), l.name, th.more)),
	}
	score := fitRight(grouped(r.Score), l.score)
	parts[0] += " " + ofScore.paint(score)
	if l.sub > 0 {
		parts = append(parts, th.dim.paint(fitRight(subscore(&r.Entry), l.sub)))
	}
	if l.gained > 0 {
		gained := ""
		if within(r.changed, fade, now) {
			gained = ofScore.paint(signed(r.Score - r.previousScore))
		}
		parts = append(parts, fit(gained, l.gained, ""))
	}
	if l.gap > 0 {
		gap := ""
		if r.gap > 0 {
			gap = th.dim.paint(grouped(-r.gap))
		}
		parts = append(parts, fitRight(gap, l.gap))
	}
	if l.trend > 0 {
		parts = append(parts, th.spark.paint(fit(r.trend.line(th, now), l.trend, "")))
	}
	if l.bar > 0 {
		parts = append(parts, pane.bar(r.Score, l.bar))
	}
	return strings.Join(parts, "  ")
}

// movement shows the ranks gained or lost recently.
func (pane *boardPane) movement(r *row, width int) string {
	th := &pane.theme
	if !within(r.moved, moveMark, pane.now()) {
		return fit("", width, "")
	}
	short := func(mark string, n int64) string {
		if text := mark + grouped(n); len([]rune(text)) <= width {
			return text
		}
		return mark + mark // the number does not fit
	}
	switch n := r.previousRank - r.Rank; {
	case r.isNew():
		return th.added.paint(fit("new", width, ""))
	case n > 0:
		return th.up.paint(fit(short(th.upMark, n), width, ""))
	case n < 0:
		return th.down.paint(fit(short(th.downMark, -n), width, ""))
	}
	return fit("", width, "")
}

// barStep is how many cells of a bar have one colour at least: each change of colour
// costs bytes.
const barStep = 3

// bar draws a score relative to the best, in the colours from the left end of the
// column to the right one.
func (pane *boardPane) bar(score int64, width int) string {
	var longest int64
	for i := range pane.board.rows {
		longest = max(longest, pane.board.rows[i].Score)
	}
	if longest <= 0 || score <= 0 {
		return strings.Repeat(" ", width)
	}
	th := &pane.theme
	steps, colours := len(th.bars), max(min(len(th.bar), width/barStep), 1)
	colour := func(i int) ink { return th.bar[i*(len(th.bar)-1)/max(colours-1, 1)] }
	n := int(math.Round(min(float64(score)/float64(longest), 1) * float64(width*steps)))
	full, part := n/steps, n%steps
	var b strings.Builder
	for i, at := 0, 0; i < colours && at < full; i++ {
		end := min((i+1)*width/colours, full)
		b.WriteString(colour(i).paint(strings.Repeat(th.bars[steps-1], end-at)))
		at = end
	}
	if part > 0 {
		b.WriteString(colour(min(full*colours/width, colours-1)).paint(th.bars[part-1]))
		full++
	}
	b.WriteString(strings.Repeat(" ", width-full))
	return b.String()
}

// ownRows are the rows of the own standing with its neighbours, while it is not among
// the rows of the board.
func (pane *boardPane) ownRows(width, room int) []string {
	if pane.me == nil || pane.board.find(pane.me.UserID) >= 0 || room <= 0 {
		return nil
	}
	around := pane.me.Neighbours
	if len(around) == 0 || room < 2+len(around) {
		around = []client.Entry{{
			Rank: pane.me.Rank, UserID: pane.me.UserID, Score: pane.me.Score, Subscore: pane.me.Subscore,
		}}
	}
	l := pane.layout(width)
	var lines []string
	if room > 1 {
		lines = append(lines, pane.theme.border.paint(strings.Repeat(pane.theme.separator, width)))
	}
	for _, e := range around {
		line := pane.line(&row{Entry: e, previousRank: e.Rank}, e.Rank, l)
		lines = append(lines, line+strings.Repeat(" ", max(width-l.width(), 0)))
	}
	return lines
}
