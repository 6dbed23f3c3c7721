package tui

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/scoreboard/scoreboard/client"
)

// player is the page of one user: rank, neighbours, scores and ranks over time, and the
// latest events of the user's statement.
type player struct {
	user      string
	opened    time.Time
	err       error // of the standing
	place     *client.Place
	statement []client.StatementEntry // newest first
	hidden    string                  // why there is no statement
	account   *client.User            // for operators
	ranks     ranks                   // since the page was opened
	first     int                     // event at the top
}

// playerPane shows the page of one user.
type playerPane struct {
	*shared
	*watched
	entry   func(user string) client.Entry
	labelOf func(client.Entry) string
	player  *player        // nil unless a player's page is open
	days    map[string]day // by board and user
}

type (
	readPlayerMsg struct{ user string }
	playerMsg     struct {
		generation int
		user       string
		place      client.Place
		err        error
		statement  []client.StatementEntry
		hidden     error
		account    *client.User
	}
)

// openPlayer opens the page of a user.
func (m *model) openPlayer(user string) tea.Cmd {
	m.help = false
	m.player = &player{user: user, opened: m.now()}
	if at := m.board.find(user); at >= 0 {
		m.player.ranks = m.board.rows[at].ranks
	}
	return tea.Batch(m.readPlayer(user), m.readDay(user))
}

// readPlayer reads what the page shows.
func (pane *playerPane) readPlayer(user string) tea.Cmd {
	board, generation, operator := pane.watching, pane.generation, pane.operator
	return pane.request(func(ctx context.Context) tea.Msg {
		msg := playerMsg{generation: generation, user: user}
		msg.place, msg.err = pane.o.Find(ctx, board, user, playerNeighbours)
		var s client.Statement
		s, msg.hidden = pane.o.Statement(ctx, board, user)
		msg.statement = s.Entries
		if operator {
			if account, err := pane.o.User(ctx, user); err == nil {
				msg.account = &account
			}
		}
		return msg
	})
}

// playerNeighbours are the neighbours on each side on a player's page.
const playerNeighbours = 3

// setPlayer stores what was read, and reads again after a while.
func (pane *playerPane) setPlayer(msg playerMsg) tea.Cmd {
	p := pane.player
	if p == nil || msg.generation != pane.generation || msg.user != p.user {
		return nil
	}
	p.err, p.account, p.hidden = msg.err, msg.account, ""
	if msg.err == nil {
		p.place = &msg.place
		p.ranks.add(msg.place.Rank, pane.now())
	}
	if msg.hidden != nil {
		p.hidden = pane.o.Explain(msg.hidden)
	} else {
		p.statement = msg.statement
	}
	return tea.Tick(refresh, func(time.Time) tea.Msg { return readPlayerMsg{p.user} })
}

// playerView draws the page into a width and height.
func (pane *playerPane) playerView(width, height int) []string {
	p, th := pane.player, &pane.theme
	inner := width - 4
	var lines []string
	title := pane.playerTitle()
	switch {
	case p.err != nil && p.place == nil:
		lines = append(lines, th.problem.paint(fit(pane.o.Explain(p.err), inner, th.more)))
	case p.place == nil:
		lines = append(lines, th.dim.paint("loading"))
	default:
		lines = append(lines, ansi.Truncate(pane.standing(p.place), inner, th.more))
	}
	if a := p.account; a != nil {
		lines = append(lines, ansi.Truncate(pane.accountLine(a), inner, th.more))
	}
	small := width < wideWidth || height-3-len(lines) < 12
	if day := pane.dayLine(inner); small && day != "" && height > 12 {
		lines = append(lines, day)
	}
	lines = append(lines, "")
	room := height - 2 - len(lines)
	if small {
		lines = append(lines, pane.playerSections(inner, room)...)
		return th.panel(title, lines, width, height)
	}
	left := (inner - 3) * 3 / 5
	right := inner - 3 - left
	a := append(pane.neighbourSection(left), "")
	a = append(a, pane.statementSection(left, room-len(a))...)
	half := (room - 4) / 2
	b := append(pane.scoreSection(right, min(half, 10)), "")
	b = append(b, pane.rankSection(right, min(room-len(b)-1, 10))...)
	for i := range room {
		line := ""
		if i < len(a) {
			line = a[i]
		}
		line = pad(line, left) + "   "
		if i < len(b) {
			line += b[i]
		}
		lines = append(lines, line)
	}
	return th.panel(title, lines, width, height)
}

// playerTitle is the user's name and id.
func (pane *playerPane) playerTitle() string {
	user := Printable(pane.player.user)
	if shown := name(pane.entry(pane.player.user), pane.theme.ascii); shown != user {
		return shown + " (" + user + ")"
	}
	return user
}

// playerSections draws the sections below each other, while they fit.
func (pane *playerPane) playerSections(width, room int) []string {
	lines := pane.neighbourSection(width)
	if room < len(lines) {
		return lines[:max(room, 0)]
	}
	if chart := pane.scoreSection(width, 4); room-len(lines) >= len(chart)+8 {
		lines = append(append(lines, ""), chart...)
	}
	if rest := room - len(lines) - 1; rest >= 2 {
		lines = append(append(lines, ""), pane.statementSection(width, rest)...)
	}
	return lines
}

// standing says where the user stands.
func (pane *playerPane) standing(p *client.Place) string {
	th := &pane.theme
	text := th.strong.paint("#"+grouped(p.Rank)) + fmt.Sprintf(" of %s", grouped(p.Total)) + th.between +
		pointsOf(p)
	if p.Total > 1 && p.Rank > 1 {
		text += th.between + "ahead of " + strconv.FormatFloat(p.Percentile, 'f', -1, 64) + " %"
	}
	for i, n := range p.Neighbours {
		if n.UserID == p.UserID && i > 0 {
			above := p.Neighbours[i-1]
			text += th.between +
				fmt.Sprintf("%s behind %s", grouped(distance(above.Score, n.Score)), name(above, th.ascii))
		}
	}
	return text
}

// pointsOf are the points of a user, with the subscore on a board that has them.
func pointsOf(p *client.Place) string {
	text := plural(p.Score, "point")
	if p.Subscore != nil {
		text += " (" + grouped(*p.Subscore) + ")"
	}
	return text
}

// accountLine is the user's account, for operators.
func (pane *playerPane) accountLine(a *client.User) string {
	th := &pane.theme
	if a.Status == active && a.OpenFlags == 0 {
		return th.dim.paint("account active, no open flags")
	}
	text := "account " + Printable(a.Status)
	if a.By != "" {
		text += " by " + Printable(a.By)
	}
	if a.Reason != "" {
		text += ": " + Printable(a.Reason)
	}
	if a.OpenFlags > 0 {
		text += th.between + plural(a.OpenFlags, "open flag")
	}
	return th.problem.paint(text)
}

func (pane *playerPane) heading(text string, width int) string {
	return pane.theme.dim.paint(fit(text, width, pane.theme.more))
}

func (pane *playerPane) neighbourSection(width int) []string {
	p, th := pane.player, &pane.theme
	lines := []string{pane.heading("neighbours", width)}
	if p.place == nil {
		return lines
	}
	wideName, wideScore := 0, 0
	for _, e := range p.place.Neighbours {
		wideName = max(wideName, cells(pane.labelOf(e)))
		wideScore = max(wideScore, len(scores(&e)))
	}
	wideName = min(wideName, maxName, width-wideScore-10)
	for _, e := range p.place.Neighbours {
		i, mark := ink{}, " "
		if e.UserID == p.user {
			i, mark = th.own, th.key.paint(th.mark)
		}
		lines = append(lines, mark+th.dim.paint(fitRight(grouped(e.Rank), 5))+"  "+
			i.paint(fit(pane.labelOf(e), wideName, th.more))+"  "+fitRight(scores(&e), wideScore))
	}
	return lines
}

// statementSection lists the latest events of the user on this board.
func (pane *playerPane) statementSection(width, room int) []string {
	p, th := pane.player, &pane.theme
	lines := []string{pane.heading("statement: the events behind the score", width)}
	if p.hidden != "" {
		return append(lines, th.dim.paint(fit(p.hidden, width, th.more)))
	}
	wideDelta, wideScore := 0, 0
	for _, e := range p.statement {
		wideDelta = max(wideDelta, len(signed(e.Delta)))
		wideScore = max(wideScore, len(grouped(e.NewScore)))
	}
	p.first = max(min(p.first, len(p.statement)-room+1), 0)
	for _, e := range p.statement[p.first:] {
		if len(lines) >= room {
			break
		}
		delta := th.up
		if e.Delta < 0 {
			delta = th.down
		}
		at := e.RecordedAt.In(pane.now().Location()).Format(time.TimeOnly)
		if pane.now().Sub(e.RecordedAt) > 24*time.Hour {
			at = e.RecordedAt.In(pane.now().Location()).Format("02 Jan ")
		}
		what := e.EventID
		if e.Action != "" {
			what = e.Action + th.between + what
		}
		line := th.dim.paint(fit(at, 8, "")) + "  " + delta.paint(fitRight(signed(e.Delta), wideDelta)) + "  " +
			fitRight(grouped(e.NewScore), wideScore) + "  " + th.dim.paint(Printable(what))
		lines = append(lines, ansi.Truncate(line, width, th.more))
	}
	return lines
}

// scoreSection is a chart of the score after each of the latest events.
func (pane *playerPane) scoreSection(width, height int) []string {
	p := pane.player
	lines := []string{pane.heading("score over the latest events", width)}
	if len(p.statement) < 2 {
		return append(lines, pane.theme.dim.paint("fewer than two events"))
	}
	values := make([]float64, len(p.statement))
	for i, e := range p.statement {
		values[len(values)-1-i] = float64(e.NewScore)
	}
	label := func(v float64) string { return grouped(int64(v)) }
	return append(lines, pane.theme.chart(values, width, height, label)...)
}

// rankSection is a chart of the user's ranks over the last day, or, where the server does not know
// them, of those that the user had while the board was watched.
func (pane *playerPane) rankSection(width, height int) []string {
	p := pane.player
	label := func(v float64) string { return "#" + grouped(int64(-v)) }
	if values, _ := pane.lastDay(); values != nil {
		for values[0] == 0 { // before the first rank
			values = values[1:]
		}
		for i, v := range values {
			if v == 0 { // hidden for a while
				values[i] = values[i-1]
			}
		}
		heading := pane.heading("rank over the last day", width)
		return append([]string{heading}, pane.theme.chart(values, width, height, label)...)
	}
	lines := []string{pane.heading("rank over time, while watching", width)}
	points := p.ranks.points
	if len(points) == 0 {
		return lines
	}
	from, span := points[0].at, pane.now().Sub(points[0].at)
	if last := points[len(points)-1]; len(points) == 1 || span < time.Second {
		return append(lines, pane.theme.dim.paint(fit(fmt.Sprintf("#%s since %s", grouped(last.rank),
			last.at.Format(time.TimeOnly)), width, pane.theme.more)))
	}
	values := make([]float64, width)
	for i, at := 0, 0; i < width; i++ {
		t := from.Add(time.Duration(float64(span) * float64(i+1) / float64(width)))
		for at+1 < len(points) && !points[at+1].at.After(t) {
			at++
		}
		values[i] = -float64(points[at].rank) // the best rank is on top
	}
	return append(lines, pane.theme.chart(values, width, height, label)...)
}

// chart draws values as a filled curve, with the largest and the smallest on the left. A value that
// never changes is a line.
func (t *theme) chart(values []float64, width, height int, label func(float64) string) []string {
	lowest, highest := values[0], values[0]
	for _, v := range values {
		lowest, highest = min(lowest, v), max(highest, v)
	}
	axis := max(cells(label(lowest)), cells(label(highest)))
	width -= axis + 1
	if width < 1 || height < 1 {
		return nil
	}
	if highest == lowest {
		lines := make([]string, height)
		for y := range lines {
			lines[y] = strings.Repeat(" ", axis)
		}
		flat := ink{}
		if len(t.bar) > 0 {
			flat = t.bar[0]
		}
		lines[height/2] = t.dim.paint(label(lowest)) + " " + flat.paint(strings.Repeat(t.box[4], width))
		return lines
	}
	blocks := append(slices.Clone(t.sparks), t.full)
	steps := len(blocks)
	filled := make([]int, width) // in steps
	for x := range filled {
		v := values[min(x*len(values)/width, len(values)-1)]
		share := (v - lowest) / (highest - lowest)
		filled[x] = 1 + int(math.Round(share*float64(height*steps-1)))
	}
	lines := make([]string, 0, height)
	for y := height - 1; y >= 0; y-- {
		var b strings.Builder
		for _, f := range filled {
			switch part := f - y*steps; {
			case part <= 0:
				b.WriteByte(' ')
			default:
				b.WriteString(blocks[min(part, steps)-1])
			}
		}
		left := ""
		switch y {
		case height - 1:
			left = label(highest)
		case 0:
			left = label(lowest)
		}
		step := ink{}
		if len(t.bar) > 0 {
			step = t.bar[(len(t.bar)-1)*(y+1)/height]
		}
		lines = append(lines, t.dim.paint(fitRight(left, axis))+" "+step.paint(strings.TrimRight(b.String(), " ")))
	}
	return lines
}
