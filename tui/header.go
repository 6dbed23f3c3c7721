package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

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

type (
	readInfoMsg struct{}
	infoMsg     struct {
		generation int
		board      client.Board
		err        error
	}
)

// readInfo reads the board's status and period, which its stream does not contain.
func (m *model) readInfo() tea.Cmd {
	board, generation := m.shown.Board, m.generation
	if board == "" {
		board = m.watching
	}
	return m.request(func(ctx context.Context) tea.Msg {
		b, err := m.o.BoardInfo(ctx, board)
		return infoMsg{generation, b, err}
	})
}

// setInfo stores the board's status and period, and reports a change in the feed.
func (m *model) setInfo(msg infoMsg) {
	if msg.generation != m.generation || msg.err != nil {
		return
	}
	was := m.info
	m.info = msg.board
	if m.reel != nil { // how the board ended is not of the moment shown
		m.info.Status, m.info.StandingsHash = "", ""
		return
	}
	switch {
	case was.Board != m.info.Board || was.Status == m.info.Status:
	case m.info.Status == Ended:
		m.setFinale(m.info.Board, m.board.rows)
	case statusWords[m.info.Status] != "":
		m.tell("the board " + statusWords[m.info.Status])
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
func (m *model) setFinale(board string, rows []row) {
	if m.finale.board == board || len(rows) == 0 {
		return
	}
	var winners []string
	for i := range rows[:min(len(rows), len(m.theme.podium))] {
		e := &rows[i]
		winners = append(winners,
			fmt.Sprintf("%s %s %s", ordinal(e.Rank), name(e.Entry, m.theme.ascii), grouped(e.Score)))
	}
	_, period, _ := strings.Cut(Printable(board), ":")
	m.finale = finale{board, period + " has ended: " + strings.Join(winners, m.theme.between), m.now().Add(finaleFor)}
	m.feed.add(event{at: m.now(), kind: milestone, text: fmt.Sprintf("%s has ended: %s wins with %s", period,
		name(rows[0].Entry, m.theme.ascii), grouped(rows[0].Score))})
}

// staleAfter is how old the data may be before the header counts the seconds. An idle
// board is confirmed more often.
const staleAfter = 5 * time.Second

// header shows the board, its period and how current the data is.
func (m *model) header() string {
	s, th := &m.shown, &m.theme
	board, period, _ := strings.Cut(s.Board, ":")
	if board == "" {
		board = "scoreboard"
	}
	left := " " + th.title.paint(fit(Printable(board), min(ansi.StringWidth(board), m.width/3), th.more))
	if words := m.periodWords(Printable(period)); words != "" && m.width >= 60 {
		left += th.dim.paint(th.between + words)
	} else if period != "" {
		left += th.dim.paint(" " + Printable(period))
	}
	if m.reel != nil {
		left += " " + th.chip.paint(" replay ")
	}
	if m.info.Status != "" && m.info.Status != active {
		left += " " + th.chip.paint(" "+Printable(m.info.Status)+" ")
	}
	if m.paused {
		left += " " + th.chip.paint(" paused ")
	}
	return spread(left, m.connection()+" ", m.width, th.more)
}

// connection says how the board is followed and how old its data is.
func (m *model) connection() string {
	s, th := &m.shown, &m.theme
	if m.reel != nil {
		return m.replayWords()
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
		if old := m.now().Sub(s.HeardAt); old >= time.Minute {
			ago = age(old) + " ago"
		} else if old >= staleAfter {
			ago = fmt.Sprintf("%d s ago", old/time.Second)
		}
		text += th.dim.paint(th.between + ago)
	}
	if s.Reconnects > 0 && m.width >= 72 {
		text += th.dim.paint(th.between + plural(s.Reconnects, "reconnect"))
	}
	return text
}

// periodWords says which period is shown and when it ends.
func (m *model) periodWords(period string) string {
	b := &m.info
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
		}
	} else if b.Period == "none" {
		words = "all time"
	}
	if b.PeriodEnd != nil {
		if left := b.PeriodEnd.Sub(m.moment()); left > 0 && b.Status != Ended {
			words += m.theme.between + "ends in " + countdown(left)
		} else {
			words += m.theme.between + "ended " + b.PeriodEnd.Format("2 Jan 15:04") + " UTC"
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
func (m *model) banners() (lines []string) {
	if m.reel != nil {
		return m.replayBanners()
	}
	s, th := &m.shown, &m.theme
	add := func(i ink, text string) { lines = append(lines, i.paint(fit(" "+Printable(text), m.width, th.more))) }
	if s.Connection == client.Disconnected && s.Err != nil {
		add(th.problem, m.o.Explain(s.Err)+"; reconnecting") // the cause first: a narrow screen truncates
	}
	if m.now().Before(m.finale.until) {
		add(th.gold, th.star+" "+m.finale.text)
	}
	if s.Degraded != "" && (s.Degraded != archived || m.info.Status != archived) {
		words, known := degradedWords[s.Degraded]
		if !known {
			words = s.Degraded
		}
		add(th.problem, "degraded: "+words)
	}
	switch m.info.Status {
	case frozen:
		add(th.warn, "frozen by an operator: no scores are accepted, reads work as usual")
	case archived:
		add(th.warn, "archived: no scores are accepted; the standings are read from PostgreSQL")
	case Ended:
		text := "this period has ended: these are its final standings"
		if h := m.info.StandingsHash; len(h) >= 12 {
			text += ", sealed as " + h[:12]
		}
		add(th.warn, text)
	}
	if s.Connection == client.Polling {
		reason := "streams do not work"
		if s.Err != nil {
			reason = m.o.Explain(s.Err)
		}
		add(th.warn, "polling every few seconds: "+reason)
	}
	return lines
}
