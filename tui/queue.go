package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/scoreboard/scoreboard/client"
)

// maxQueued bounds the rows of a queue: the server's first page may have more.
const maxQueued = 100

// A queue is a list of what operators decide about or wait for: open flags, jobs, dead letters.
type queueKind struct {
	title, empty string
	read         func(o *Options, ctx context.Context, now time.Time) ([]queued, error)
}

// queued is a row of a queue.
type queued struct {
	id, state, about string
	good, bad        bool   // how its state is drawn
	detail           string // shown for the selected row
	command          string // that acts on it; "" for none
	user             string // whose page enter opens; "" for none
}

var (
	flagQueue = &queueKind{"open flags", "no flag waits for a decision", func(
		o *Options, ctx context.Context, now time.Time,
	) (all []queued, err error) {
		flags, err := o.Flags(ctx)
		for i := range flags {
			f := &flags[i]
			all = append(all, queued{
				id: fmt.Sprint(f.ID), state: f.Rule, bad: true, user: f.UserID,
				about: fmt.Sprintf("%s on %s, %s, %s ago",
					f.UserID, f.Board, signed(f.Delta), age(now.Sub(f.LastAt))),
				detail:  f.Detail,
				command: fmt.Sprintf("sbctl flag confirm %d", f.ID),
			})
		}
		return all, err
	}}
	jobQueue = &queueKind{"jobs", "no job has run in the last 30 days", func(
		o *Options, ctx context.Context, now time.Time,
	) (all []queued, err error) {
		jobs, err := o.Jobs(ctx)
		for i := range jobs {
			all = append(all, queuedJob(&jobs[i], now))
		}
		return all, err
	}}
	letterQueue = &queueKind{"dead letters", "every record could be processed", func(
		o *Options, ctx context.Context, now time.Time,
	) (all []queued, err error) {
		letters, err := o.DeadLetters(ctx)
		for i := range letters {
			l := &letters[i]
			all = append(all, queued{
				id: fmt.Sprint(l.ID), state: plural(int64(l.Attempts), "attempt"), bad: true,
				about: fmt.Sprintf("%s/%d at %d, %s ago",
					l.Topic, l.Partition, l.Offset, age(now.Sub(l.DeadLetteredAt))),
				detail:  l.Reason,
				command: fmt.Sprintf("sbctl dlq requeue %d", l.ID),
			})
		}
		return all, err
	}}
)

func queuedJob(j *client.Job, now time.Time) queued {
	q := queued{
		id: fmt.Sprint(j.JobID), state: j.State, good: j.State == "done", bad: j.State == "failed" || j.State == "lost",
		about: j.Kind + " of " + j.Target + " by " + j.Who, detail: j.Reason,
	}
	took, verb := now.Sub(j.StartedAt), "for "
	if j.EndedAt != nil {
		took, verb = j.EndedAt.Sub(j.StartedAt), "took "
	}
	q.about += ", " + verb + age(took)
	if l := j.Line; l != nil {
		done := max(l.Users, l.Records)
		switch {
		case l.Error != nil:
			q.detail = l.Error.Message
		case j.EndedAt == nil && l.Total > 0:
			q.about += fmt.Sprintf(", %d %%", 100*done/l.Total)
		}
	}
	if j.State == "running" {
		q.command = "sbctl job stop " + q.id
	}
	return q
}

// queuePane shows a queue, if one is open.
type queuePane struct {
	*shared
	queue *queue
}

type queue struct {
	kind *queueKind
	rows []queued
	at   int // the selected row
	read bool
	err  error
}

type (
	readQueueMsg struct{ kind *queueKind }
	queueMsg     struct {
		kind *queueKind
		rows []queued
		err  error
	}
)

// openQueue opens a queue and reads it.
func (pane *queuePane) openQueue(kind *queueKind) tea.Cmd {
	if pane.o.Playback != nil {
		return nil
	}
	if !pane.operator {
		pane.notify("the " + kind.title + " need a token with the scope score:operate")
		return nil
	}
	pane.queue = &queue{kind: kind}
	return pane.readQueue(kind)
}

// readQueue reads the open queue.
func (pane *queuePane) readQueue(kind *queueKind) tea.Cmd {
	if pane.queue == nil || pane.queue.kind != kind {
		return nil // it was closed meanwhile
	}
	now := pane.now()
	return pane.request(func(ctx context.Context) tea.Msg {
		rows, err := kind.read(&pane.o, ctx, now)
		return queueMsg{kind, rows[:min(len(rows), maxQueued)], err}
	})
}

// setQueue shows what was read, and reads it again while it is open.
func (pane *queuePane) setQueue(msg queueMsg) tea.Cmd {
	q := pane.queue
	if q == nil || q.kind != msg.kind {
		return nil
	}
	if q.err = msg.err; msg.err == nil {
		selected := ""
		if len(q.rows) > 0 {
			selected = q.rows[q.at].id
		}
		q.rows, q.read, q.at = msg.rows, true, max(min(q.at, len(msg.rows)-1), 0)
		for i := range q.rows {
			if q.rows[i].id == selected {
				q.at = i
			}
		}
	}
	return tea.Tick(statusInterval, func(time.Time) tea.Msg { return readQueueMsg{msg.kind} })
}

// queueKey handles a key while a queue is open.
func (m *model) queueKey(msg tea.KeyMsg) tea.Cmd {
	q := m.queue
	last := max(len(q.rows)-1, 0)
	switch {
	case msg.Type == tea.KeyCtrlC:
		return tea.Quit
	case key.Matches(msg, keys.flags) && q.kind != flagQueue:
		return m.openQueue(flagQueue)
	case key.Matches(msg, keys.jobs) && q.kind != jobQueue:
		return m.openQueue(jobQueue)
	case key.Matches(msg, keys.letters) && q.kind != letterQueue:
		return m.openQueue(letterQueue)
	case key.Matches(msg, keys.dismiss), key.Matches(msg, keys.flags), key.Matches(msg, keys.jobs),
		key.Matches(msg, keys.letters):
		m.queue = nil
	case key.Matches(msg, keys.up):
		q.at = max(q.at-1, 0)
	case key.Matches(msg, keys.down):
		q.at = min(q.at+1, last)
	case key.Matches(msg, keys.top):
		q.at = 0
	case key.Matches(msg, keys.bottom):
		q.at = last
	case len(q.rows) == 0:
	case key.Matches(msg, keys.copy) && q.rows[q.at].command != "":
		text := q.rows[q.at].command
		return func() tea.Msg { return copiedMsg{m.o.Copy(text)} }
	case key.Matches(msg, keys.open) && q.rows[q.at].user != "":
		m.queue = nil
		return m.openPlayer(q.rows[q.at].user)
	}
	return nil
}

// queueView draws the queue around its selection.
func (pane *queuePane) queueView(width, height int) []string {
	q, th := pane.queue, &pane.theme
	inner, wideID, wideState := min(width-4, 96), 0, 0
	for i := range q.rows {
		wideID, wideState = max(wideID, cells(q.rows[i].id)), max(wideState, cells(Printable(q.rows[i].state)))
	}
	room := max(min(height-7, len(q.rows)), 1)
	first := max(min(q.at-room/2, len(q.rows)-room), 0)
	var lines []string
	for i := first; i < min(first+room, len(q.rows)); i++ {
		row := &q.rows[i]
		mark, state := " ", th.dim
		if i == q.at {
			mark = th.key.paint(th.mark)
		}
		switch {
		case row.good:
			state = th.good
		case row.bad:
			state = th.problem
		}
		line := fit(mark+" "+fitRight(row.id, wideID)+"  "+state.paint(fit(Printable(row.state), wideState, th.more))+
			"  "+Printable(row.about), inner, th.more)
		if i == q.at {
			line = th.onSelected(line)
		}
		lines = append(lines, line)
	}
	hints := []key.Binding{keys.dismiss}
	switch {
	case q.err != nil:
		lines = append(lines, th.warn.paint(fit(Printable(pane.o.Explain(q.err)), inner, th.more)))
	case !q.read:
		lines = append(lines, th.dim.paint(fit("loading", inner, th.more)))
	case len(q.rows) == 0:
		lines = append(lines, th.dim.paint(fit(q.kind.empty, inner, th.more)))
	}
	if len(q.rows) > 0 {
		row := &q.rows[q.at]
		lines = append(lines, "", fit(Printable(row.detail), inner, th.more))
		if row.command != "" {
			lines = append(lines, th.strong.paint(fit(row.command, inner, th.more)))
			hints = append([]key.Binding{brief(keys.copy, "copy the command")}, hints...)
		}
		if row.user != "" {
			hints = append([]key.Binding{brief(keys.open, "player")}, hints...)
		}
	}
	lines = append(lines, th.shortHelp(hints, inner))
	title := q.kind.title
	if n := len(q.rows); n > room {
		title = fmt.Sprintf("%s %d-%d of %d", strings.TrimSpace(title), first+1, first+room, n)
	}
	return th.panel(title, lines, inner+4, len(lines)+2)
}
