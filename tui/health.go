package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Limits above which a stage is marked, as in the alert rules.
const (
	maxP95         = 200 // milliseconds
	maxOutboxDepth = 1000
	maxOutboxAge   = 5 * time.Second
	maxLag         = 1000
	maxBoardAge    = 5 * time.Second
)

// healthPane is the status of the server, for operators.
type healthPane struct {
	*shared
	*watched
	entry    func(user string) client.Entry
	events   *activity
	open     *map[string]int64 // open flags by user
	status   *client.Status    // the last one that was read
	statusAt time.Time         // when it was read
	silent   bool              // a later read failed
	health   health
	lastFlag int64 // the newest flag seen; -1: none were read yet
}

type (
	readStatusMsg struct{}
	statusMsg     struct {
		status *client.Status
		flags  []client.Flag // open ones; nil: unchanged
		err    error
	}
)

// readStatus reads the status of the server and the open flags, which are for operators.
func (pane *healthPane) readStatus() tea.Cmd {
	board, readFlags := pane.watching, pane.o.Flags
	return pane.request(func(ctx context.Context) tea.Msg {
		s, err := pane.o.Status(ctx, board)
		msg := statusMsg{status: &s, err: err}
		if err == nil && readFlags != nil {
			if open, err := readFlags(ctx); err == nil {
				msg.flags = append([]client.Flag{}, open...)
			}
		}
		return msg
	})
}

// setStatus stores the server status. Once it was rejected, it is not read again.
func (pane *healthPane) setStatus(msg statusMsg) tea.Cmd {
	pane.silent = msg.err != nil
	if msg.err == nil {
		pane.status, pane.statusAt, pane.operator = msg.status, pane.now(), true
		pane.health.add(msg.status)
		pane.setFlags(msg.flags)
	} else if c := wire.CodeOf(msg.err); c == wire.CodeForbidden || c == wire.CodeUnauthorized {
		pane.status = nil
		return nil
	}
	return tea.Tick(statusInterval, func(time.Time) tea.Msg { return readStatusMsg{} })
}

// setFlags stores the number of open flags of each user, and reports new ones.
func (pane *healthPane) setFlags(open []client.Flag) {
	if open == nil {
		return
	}
	flags := make(map[string]int64)
	for _, f := range open {
		flags[f.UserID]++
		if pane.lastFlag >= 0 && f.ID > pane.lastFlag {
			user := pane.entry(f.UserID)
			detail := strings.TrimPrefix(f.Detail, fmt.Sprintf("delta %d, ", f.Delta))
			pane.events.add(event{at: pane.now(), kind: flagged, text: fmt.Sprintf("%s is flagged (%s): %s, %s",
				name(user, pane.theme.ascii), Printable(f.Rule), signed(f.Delta), Printable(detail))})
		}
	}
	pane.lastFlag = max(pane.lastFlag, 0)
	for _, f := range open {
		pane.lastFlag = max(pane.lastFlag, f.ID)
	}
	*pane.open = flags
}

// outdatedAfter is how old the status may be while an answer is awaited.
const outdatedAfter = 3 * statusInterval

// outdated says how old the status is when the server does not answer; "" while it does.
func (pane *healthPane) outdated() string {
	old := pane.now().Sub(pane.statusAt)
	if !pane.silent && old < outdatedAfter {
		return ""
	}
	return fmt.Sprintf("no answer; as of %d s ago", int(old.Seconds()))
}

// stage is one line of the health panel: a stage of the pipeline.
type stage struct {
	name, value string
	history     *series // nil: none
	problem     string  // why it is not healthy, in words
}

// series holds the newest values of a figure.
type series struct{ values [seriesLength]float64 }

// One minute at one value every two seconds.
const seriesLength = 30

func (s *series) add(v float64) {
	copy(s.values[:], s.values[1:])
	s.values[seriesLength-1] = v
}

// health holds the history of the figures.
type health struct{ writes, p95, outbox, lag, behind series }

func (h *health) add(s *client.Status) {
	figure := func(to *series, v *float64) {
		if v != nil {
			to.add(*v)
		} else {
			to.add(0)
		}
	}
	count := func(to *series, v *int64) {
		if v != nil {
			to.add(float64(*v))
		} else {
			to.add(0)
		}
	}
	figure(&h.writes, s.IncrementsPerSecond)
	figure(&h.p95, s.LatencyP95MS)
	count(&h.outbox, s.OutboxDepth)
	h.lag.add(float64(lagOf(s)))
	if s.Board != nil {
		count(&h.behind, s.Board.AgeMS)
	}
}

func lagOf(s *client.Status) (lag int64) {
	for _, n := range s.ConsumerLag {
		lag += n
	}
	return lag
}

// stages returns the lines of the panel in the order of the pipeline.
func (pane *healthPane) stages() (all []stage) {
	s, h := pane.status, &pane.health
	add := func(name string, history *series, problem, format string, args ...any) {
		all = append(all, stage{name, fmt.Sprintf(format, args...), history, problem})
	}
	above := func(bad bool, format string, args ...any) string {
		if !bad {
			return ""
		}
		return "over " + fmt.Sprintf(format, args...)
	}
	if s.IncrementsPerSecond != nil {
		add("writes", &h.writes, "", "%s/s", grouped(int64(*s.IncrementsPerSecond+0.5)))
	}
	if s.LatencyP95MS != nil {
		add("write p95", &h.p95, above(*s.LatencyP95MS > maxP95, "%d ms", maxP95), "%.1f ms", *s.LatencyP95MS)
	}
	if s.OutboxDepth != nil {
		problem := above(*s.OutboxDepth > maxOutboxDepth, "%s", grouped(maxOutboxDepth))
		value := grouped(*s.OutboxDepth)
		if ms := s.OutboxOldestAgeMS; ms != nil && *ms >= 1000 {
			oldest := time.Duration(*ms) * time.Millisecond
			value += ", " + age(oldest)
			if problem == "" {
				problem = above(oldest > maxOutboxAge, "%s", age(maxOutboxAge))
			}
		}
		add("outbox", &h.outbox, problem, "%s", value)
	}
	if len(s.ConsumerLag) > 0 {
		lag := lagOf(s)
		add("transport", &h.lag, above(lag > maxLag, "%s", grouped(maxLag)), "%s behind", grouped(lag))
	}
	if b := s.Board; b != nil {
		state := strings.ToLower(strings.ReplaceAll(b.ShownState(), "_", " "))
		problem, value := "", state
		switch {
		case b.Suspect:
			problem = "Redis restarted"
		case b.State != string(scoreboard.StateHealthy):
			problem = "not healthy"
		}
		if b.AgeMS != nil {
			old := time.Duration(*b.AgeMS) * time.Millisecond
			value = "current" // an idle board's age changes all the time
			if old >= time.Second {
				value = age(old) + " old"
			}
			if problem != "" {
				value = state
			} else {
				problem = above(old > maxBoardAge, "%s", age(maxBoardAge))
			}
		}
		add("ranking", &h.behind, problem, "%s", Printable(value))
	}
	if p := s.Parity; p != nil && p.Checked > 0 {
		problem := ""
		if p.Drifted > p.Repaired {
			problem = plural(p.Drifted-p.Repaired, "difference")
		}
		add("parity", nil, problem, "%s %%", percent(p.Percent))
	}
	if len(s.Connections) > 0 {
		var n int64
		for _, c := range s.Connections {
			n += c
		}
		add("streams", nil, "", "%s", grouped(n))
	}
	return all
}

// healthPanel draws one line for each stage: its value, the last minute, and whether it
// is within its limit.
func (pane *healthPane) healthPanel(width int) []string {
	th := &pane.theme
	stages := pane.stages()
	wideName, wideValue, wideWords := 0, 0, 2
	for _, s := range stages {
		wideName = max(wideName, len(s.name))
		wideValue = max(wideValue, cells(s.value))
		wideWords = max(wideWords, cells(s.problem))
	}
	sparks := min(width-wideName-wideValue-wideWords-6, seriesLength)
	var lines []string
	outdated := pane.outdated()
	good, problem := th.good, th.problem
	if outdated != "" {
		lines = append(lines, th.warn.paint(fit(outdated, width, th.more)))
		good, problem = th.dim, th.dim
	}
	for _, s := range stages {
		line := th.dim.paint(fit(s.name, wideName, "")) + "  " + fitRight(s.value, wideValue)
		if sparks >= 6 {
			curve := ""
			if s.history != nil {
				curve = th.sparkline(s.history.values[seriesLength-sparks:])
			}
			line += "  " + th.spark.paint(fit(curve, sparks, ""))
		}
		verdict := good.paint("ok")
		if s.problem != "" {
			verdict = problem.paint(s.problem)
		}
		lines = append(lines, ansi.Truncate(line+"  "+verdict, width, th.more))
	}
	for _, p := range pane.status.Problems {
		lines = append(lines, problem.paint(fit(Printable(p), width, th.more)))
	}
	return lines
}

// healthLine says in one line what the panel shows: the problems, or the main figures.
func (pane *healthPane) healthLine(width int) string {
	th := &pane.theme
	var problems, figures []string
	for _, s := range pane.stages() {
		if s.problem != "" {
			problems = append(problems, s.name+" "+s.value+": "+s.problem)
		}
		figures = append(figures, s.name+" "+s.value)
	}
	for _, p := range pane.status.Problems {
		problems = append(problems, Printable(p))
	}
	outdated := pane.outdated()
	if len(problems) > 0 && outdated == "" {
		return th.problem.paint(fit(" "+strings.Join(problems, th.between), width, th.more))
	}
	text := " " + th.good.paint("healthy")
	if outdated != "" {
		text = " " + th.warn.paint(outdated)
	}
	for _, f := range figures {
		if cells(text+th.between+f) > width {
			break
		}
		text += th.dim.paint(th.between + f)
	}
	return text
}

// percent does not round up to 100.
func percent(p float64) string {
	if p == 100 {
		return "100"
	}
	return fmt.Sprintf("%.2f", min(p, 99.99))
}
