package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/scoreboard/scoreboard/client"
)

const (
	// dayTTL is how long a user's last day is kept: it has a point an hour.
	dayTTL = 5 * time.Minute
	// maxDays bounds the users whose last day is kept.
	maxDays = 64
)

// day is the ranks of a user on a board over the last day, as the server knows them.
type day struct {
	readAt time.Time
	points []client.RankPoint // nil: not available
	best   int64
}

type dayMsg struct {
	board, user string
	history     client.RankHistory
	err         error
}

func dayKey(board, user string) string { return board + " " + user }

// readDay reads the last day of a user, unless it was read a short time ago.
func (pane *playerPane) readDay(user string) tea.Cmd {
	board := pane.watching
	key := dayKey(board, user)
	if d, known := pane.days[key]; pane.o.History == nil || known && pane.now().Sub(d.readAt) < dayTTL {
		return nil
	}
	if pane.days == nil || len(pane.days) >= maxDays {
		pane.days = make(map[string]day)
	}
	pane.days[key] = day{readAt: pane.now()} // no second request meanwhile
	return pane.request(func(ctx context.Context) tea.Msg {
		h, err := pane.o.History(ctx, board, user)
		return dayMsg{board, user, h, err}
	})
}

// setDay stores what was read. Without it, the page shows the ranks of the watch.
func (pane *playerPane) setDay(msg dayMsg) {
	d, asked := pane.days[dayKey(msg.board, msg.user)]
	if !asked || msg.err != nil {
		return
	}
	d.points, d.best = msg.history.Points, msg.history.BestRank
	pane.days[dayKey(msg.board, msg.user)] = d
}

// lastDay returns the ranks of the player's last day, oldest first, negative so that the best one is
// the largest, and 0 for none. It is nil if fewer than two are known.
func (pane *playerPane) lastDay() (values []float64, d day) {
	d = pane.days[dayKey(pane.watching, pane.player.user)]
	known := 0
	for _, p := range d.points {
		v := 0.0
		if p.Rank != nil {
			v = -float64(*p.Rank)
			known++
		}
		values = append(values, v)
	}
	if place := pane.player.place; place != nil && place.Rank > 0 {
		values = append(values, -float64(place.Rank))
		known++
	}
	if known < 2 {
		return nil, d
	}
	return values, d
}

// dayLine is the last day on one line, for a page without room for a chart.
func (pane *playerPane) dayLine(width int) string {
	values, d := pane.lastDay()
	if values == nil {
		return ""
	}
	worst, first := 0.0, 0.0
	for _, v := range values {
		if worst = min(worst, v); first == 0 {
			first = v
		}
	}
	heights := make([]float64, len(values))
	flat := true
	for i, v := range values {
		if v != 0 {
			heights[i] = v - worst + 1
			flat = flat && v == first
		}
	}
	th := &pane.theme
	curve := th.sparkline(heights)
	if flat { // of full blocks it would be a bar
		curve = strings.Repeat(" ", slices.IndexFunc(values, func(v float64) bool { return v != 0 }))
		curve += strings.Repeat(th.box[4], len(values)-len(curve))
	}
	words := fmt.Sprintf("  #%s %s #%s, best #%s", grouped(int64(-first)), th.to,
		grouped(int64(-values[len(values)-1])), grouped(min(d.best, int64(-values[len(values)-1]))))
	line := th.dim.paint("last day ") + th.spark.paint(curve) + words
	if len("last day ")+len(values)+len(words) > width {
		return ""
	}
	return line
}
