package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/scoreboard/scoreboard/client"
)

// The statuses of a board.
const (
	active   = "active"
	frozen   = "frozen"
	archived = "archived"
	// Ended is the status of a period whose final standings are stored. The caller sets it:
	// the server's is frozen.
	Ended = "ended"
)

// statusWords describe a board's status.
var statusWords = map[string]string{
	active:   "accepts scores again",
	frozen:   "is frozen and accepts no scores",
	archived: "is archived and accepts no scores",
	Ended:    "has ended and accepts no scores",
}

// degradedWords say what the reasons of degraded boards mean.
var degradedWords = map[string]string{
	"rebuilding":          "the ranking is being rebuilt; shown from PostgreSQL",
	"ranking_unavailable": "Redis does not answer; shown from PostgreSQL",
	"not_ranked_yet":      "recent scores are still on their way",
	"store_unavailable":   "PostgreSQL does not answer: no scores are accepted",
	"replica_behind":      "the primary is down; a replica that is behind answers",
	"stale":               "Redis and PostgreSQL do not answer; this is the last known state",
	archived:              "archived; shown from PostgreSQL",
}

// headerPane is the lines above the board.
type headerPane struct {
	*shared
	state  *client.State // on the screen
	info   *client.Board
	finale *finale
	paused *bool
	reel   *reel // nil: the board is live
}

type (
	readInfoMsg struct{}
	infoMsg     struct {
		generation int
		board      client.Board
		err        error
	}
)

// readInfo reads the board's status and period, which its stream does not contain.
func (pane *boardPane) readInfo() tea.Cmd {
	board, generation := pane.shown.Board, pane.generation
	if board == "" {
		board = pane.watching
	}
	return pane.request(func(ctx context.Context) tea.Msg {
		b, err := pane.o.BoardInfo(ctx, board)
		return infoMsg{generation, b, err}
	})
}

// setInfo stores the board's status and period, and reports a change in the activity.
func (pane *boardPane) setInfo(msg infoMsg) {
	if msg.generation != pane.generation || msg.err != nil {
		return
	}
	was := pane.info
	pane.info = msg.board
	if pane.reel != nil { // how the board ended is not of the moment shown
		pane.info.Status, pane.info.StandingsHash = "", ""
		return
	}
	switch {
	case was.Board != pane.info.Board || was.Status == pane.info.Status:
	case pane.info.Status == Ended:
		pane.setFinale(pane.info.Board, pane.board.rows)
	case statusWords[pane.info.Status] != "":
		pane.tell("the board " + statusWords[pane.info.Status])
	}
}

// finale announces the winners of a period that ended on the screen.
type finale struct {
	board, text string
	until       time.Time
}

// finaleFor is how long the winners are announced.
const finaleFor = 30 * time.Second

// setFinale announces the first rows of a board whose period has ended.
func (pane *boardPane) setFinale(board string, rows []row) {
	if pane.finale.board == board || len(rows) == 0 {
		return
	}
	var winners []string
	for i := range rows[:min(len(rows), len(pane.theme.podium))] {
		e := &rows[i]
		winners = append(winners,
			fmt.Sprintf("%s %s %s", ordinal(e.Rank), name(e.Entry, pane.theme.ascii), scores(&e.Entry)))
	}
	_, period, _ := strings.Cut(Printable(board), ":")
	text := period + " has ended: " + strings.Join(winners, pane.theme.between)
	pane.finale = finale{board, text, pane.now().Add(finaleFor)}
	pane.activity.add(event{at: pane.now(), kind: milestone, text: fmt.Sprintf("%s has ended: %s wins with %s", period,
		name(rows[0].Entry, pane.theme.ascii), scores(&rows[0].Entry))})
}

// staleAfter is how old the data may be before the header counts the seconds. An idle
// board is confirmed more often.
const staleAfter = 5 * time.Second

// line shows the board, its period and how current the data is.
func (pane *headerPane) line() string {
	s, th := pane.state, &pane.theme
	board, period, _ := strings.Cut(s.Board, ":")
	if board == "" {
		board = "scoreboard"
	}
	left := " " + th.title.paint(fit(Printable(board), min(cells(board), pane.width/3), th.more))
	if words := pane.periodWords(Printable(period)); words != "" && pane.width >= 60 {
		left += th.dim.paint(th.between + words)
	} else if period != "" {
		left += th.dim.paint(" " + Printable(period))
	}
	if pane.reel != nil {
		left += " " + th.chip.paint(" playback ")
	}
	if pane.info.Status != "" && pane.info.Status != active {
		left += " " + th.chip.paint(" "+Printable(pane.info.Status)+" ")
	}
	if *pane.paused {
		left += " " + th.chip.paint(" paused ")
	}
	return spread(left, pane.connection()+" ", pane.width, th.more)
}

// connection says how the board is followed and how old its data is.
func (pane *headerPane) connection() string {
	s, th := pane.state, &pane.theme
	if pane.reel != nil {
		return pane.playbackWords()
	}
	dot, words := th.problem, "connecting"
	switch s.Connection {
	case client.WebSocket:
		dot, words = th.good, "live"
	case client.SSE:
		dot, words = th.good, "live (SSE)"
	case client.Polling:
		dot, words = th.warn, "polling"
	case client.Disconnected:
		words = "offline"
	}
	if s.Connection == "" {
		dot = th.warn
	}
	text := dot.paint(th.dot) + " " + words
	if !s.HeardAt.IsZero() {
		ago := "now"
		if old := pane.now().Sub(s.HeardAt); old >= time.Minute {
			ago = age(old) + " ago"
		} else if old >= staleAfter {
			ago = fmt.Sprintf("%d s ago", old/time.Second)
		}
		text += th.dim.paint(th.between + ago)
	}
	if s.Reconnects > 0 && pane.width >= 72 {
		text += th.dim.paint(th.between + plural(s.Reconnects, "reconnect"))
	}
	return text
}

// periodWords says which period is shown and when it ends.
func (pane *headerPane) periodWords(period string) string {
	b := pane.info
	words := period
	if b.PeriodStart != nil {
		start := *b.PeriodStart
		if zone, err := time.LoadLocation(b.TimeZone); err == nil {
			start = start.In(zone)
		}
		switch b.Period {
		case "daily":
			words = start.Format("Mon 2 Jan")
		case "weekly":
			words = "week of " + start.Format("2 Jan")
		case "monthly":
			words = start.Format("January 2006")
		case "season":
			words = "season " + period
		case "cron":
			words = "since " + start.Format("Mon 2 Jan 15:04")
		}
	} else if b.Period == "none" {
		words = "all time"
	}
	if b.PeriodEnd != nil {
		if left := b.PeriodEnd.Sub(pane.moment()); left > 0 && b.Status != Ended {
			words += pane.theme.between + "ends in " + countdown(left)
		} else {
			words += pane.theme.between + "ended " + b.PeriodEnd.Format("2 Jan 15:04") + " UTC"
		}
	}
	return words
}

// countdownStep is how often a countdown of this length changes.
func countdownStep(left time.Duration) time.Duration {
	switch {
	case left <= 2*time.Minute:
		return time.Second
	case left <= 2*time.Hour:
		return time.Minute
	}
	return time.Hour
}

func countdown(left time.Duration) string {
	step := countdownStep(left)
	n := int64((left + step - 1) / step)
	switch {
	case step == time.Second:
		return fmt.Sprintf("%d s", n)
	case step == time.Minute:
		return fmt.Sprintf("%d min", n)
	case n < 72:
		return fmt.Sprintf("%d h", n)
	}
	return plural((n+23)/24, "day")
}

// banners are the lines below the header: what is unusual, the most important first.
func (pane *headerPane) banners() (lines []string) {
	if pane.reel != nil {
		return pane.playbackBanners()
	}
	s, th := pane.state, &pane.theme
	add := func(i ink, text string) {
		lines = append(lines, i.paint(fit(" "+Printable(text), pane.width, th.more)))
	}
	if s.Connection == client.Disconnected && s.Err != nil {
		add(th.problem, pane.o.Explain(s.Err)+"; reconnecting") // the cause first: a narrow screen truncates
	}
	if pane.now().Before(pane.finale.until) {
		add(th.gold, th.star+" "+pane.finale.text)
	}
	if s.Degraded != "" && (s.Degraded != archived || pane.info.Status != archived) {
		words, known := degradedWords[s.Degraded]
		if !known {
			words = s.Degraded
		}
		add(th.problem, "degraded: "+words)
	}
	switch pane.info.Status {
	case frozen:
		add(th.warn, "frozen by an operator: no scores are accepted, reads work as usual")
	case archived:
		add(th.warn, "archived: no scores are accepted; the standings are read from PostgreSQL")
	case Ended:
		text := "this period has ended: these are its final standings"
		if h := pane.info.StandingsHash; len(h) >= 12 {
			text += ", sealed as " + h[:12]
		}
		add(th.warn, text)
	}
	if s.Connection == client.Polling {
		reason := "streams do not work"
		if s.Err != nil {
			reason = pane.o.Explain(s.Err)
		}
		add(th.warn, "polling every few seconds: "+reason)
	}
	return lines
}
