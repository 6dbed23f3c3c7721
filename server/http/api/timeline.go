package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The bounds of one part of a timeline.
const (
	maxTimelineSteps = 500
	maxTimelineRows  = 10_000 // of all frames
	defaultSteps     = 250    // of a timeline whose step the server chooses
	timelineSpan     = 24 * time.Hour
	// timelineDelay is how long before now a timeline ends by default: by then a moment is settled.
	timelineDelay = 2 * time.Second
)

// timelineQuery are the parameters of a timeline.
type timelineQuery struct {
	board    *scoreboard.Board
	moment   scoreboard.PastTime // as of
	from, to time.Time
	step     time.Duration
	limit    int
}

// timelines answers with the rows that a board had.
type timelines struct {
	store  PastBoards
	past   *pastReads
	access *boardAccess
	show   func(context.Context, scoreboard.BoardID, []scoreboard.Entry)
	now    clock
}

// timeline is GET /v1/leaderboard/timeline.
func (m *timelines) timeline(c *gin.Context, caller *auth.Claims) error {
	name := c.Query("board")
	return m.answerTimeline(c, caller, name, func() (*scoreboard.Board, error) {
		return m.access.readableBoard(c, caller, name)
	})
}

// pageTimeline is GET /b/{board}/timeline.
func (d *pageData) pageTimeline(c *gin.Context, _ *auth.Claims) error {
	return d.timelines.answerTimeline(c, anonymous, c.Param("board"), func() (*scoreboard.Board, error) {
		return d.boards.listed(c)
	})
}

// answerTimeline answers with a part of a timeline of a board, by its name and as what the name means now.
func (m *timelines) answerTimeline(
	c *gin.Context, caller *auth.Claims, name string, named func() (*scoreboard.Board, error),
) error {
	q, err := m.timelineQuery(c, caller, name, named)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	times := q.times()
	frames, covered, err := m.store.Timeline(ctx, q.board, q.moment, times, q.limit)
	if err != nil {
		return err
	}
	m.showFrames(ctx, q.board.ID, frames)
	out := wire.Timeline{
		Board: string(q.board.ID), Start: q.from, End: q.to, StepMS: q.step.Milliseconds(),
		Frames: make([]wire.TimelineFrame, len(frames)),
	}
	for i, f := range frames {
		out.Frames[i] = wire.TimelineFrame{
			At: f.At, Total: f.Total, Entries: entriesJSON(q.board, rowsFor(caller, f.Entries)),
		}
	}
	if last := times[covered-1]; last.Before(q.to) {
		out.NextFrom = new(q.after(last))
	}
	respond(c, http.StatusOK, out)
	return nil
}

// timelineQuery parses the query. Without from, a timeline is of a whole period, or of a day.
func (m *timelines) timelineQuery(
	c *gin.Context, caller *auth.Claims, name string, named func() (*scoreboard.Board, error),
) (q timelineQuery, err error) {
	if q.limit, err = queryInt(c, "limit", shortStream, 1, scoreboard.TopSize); err != nil {
		return q, err
	}
	if q.moment, err = parseAs(c, caller); err != nil {
		return q, err
	}
	if q.step, err = queryStep(c); err != nil {
		return q, err
	}
	if q.from, err = queryTime(c, "from"); err != nil {
		return q, err
	}
	if q.to, err = queryTime(c, "to"); err != nil {
		return q, err
	}
	now := m.now().UTC()
	switch latest := now.Add(maxAhead); {
	case q.from.After(latest):
		return q, scoreboard.Invalid("from", "from is in the future")
	case q.to.After(latest):
		return q, scoreboard.Invalid("to", "to is in the future")
	case !q.to.IsZero() && q.from.After(q.to):
		return q, scoreboard.Invalid("from", "from must not be after to")
	}
	if q.board, err = named(); err != nil {
		return q, err
	}
	at := q.from
	if at.IsZero() && q.to.Before(now) { // the period of a time that is still to come need not exist
		at = q.to
	}
	if !at.IsZero() {
		if q.board, err = m.past.boardAt(c.Request.Context(), q.board, name, &scoreboard.PastTime{At: at}); err != nil {
			return q, err
		}
	}
	q.complete(now)
	return q, nil
}

// complete sets what the query leaves out, and ends the timeline where the board ended.
func (q *timelineQuery) complete(now time.Time) {
	b := q.board
	if q.to.IsZero() {
		q.to = now.Add(-timelineDelay)
	}
	if b.Ended() && !b.Closed.IsZero() && q.to.After(b.Closed) {
		q.to = b.Closed
	}
	if q.from.IsZero() {
		if q.from = b.PeriodStart; q.from.IsZero() {
			q.from = q.to.Add(-timelineSpan)
		}
		if q.from.Before(b.Created) {
			q.from = b.Created
		}
	}
	q.from, q.to = q.from.UTC().Truncate(time.Microsecond), q.to.UTC().Truncate(time.Microsecond)
	if q.to.Before(q.from) { // the board ended before, or has not begun
		q.to = q.from
	}
	if q.step == 0 {
		steps := q.to.Sub(q.from) / defaultSteps
		q.step = min(max((steps+time.Second-1).Truncate(time.Second), minStep), maxStep)
	}
}

// times are the times of the next part.
func (q *timelineQuery) times() []time.Time {
	times := []time.Time{q.from}
	for at := q.from; at.Before(q.to) && len(times) < min(maxTimelineSteps, maxTimelineRows/q.limit); {
		at = q.after(at)
		times = append(times, at)
	}
	return times
}

// after is the time that follows another one: a step later, but the timeline ends at to.
func (q *timelineQuery) after(at time.Time) time.Time {
	if next := at.Add(q.step); next.Before(q.to) {
		return next
	}
	return q.to
}

// showFrames hides users in the rows of frames, and adds the profiles of the others, as in all
// rows that everyone sees. A timeline has a few users in many rows.
func (m *timelines) showFrames(ctx context.Context, board scoreboard.BoardID, frames []scoreboard.Frame) {
	index := make(map[scoreboard.UserID]int)
	var users []scoreboard.Entry
	for _, f := range frames {
		for _, e := range f.Entries {
			if _, known := index[e.User]; !known {
				index[e.User] = len(users)
				users = append(users, scoreboard.Entry{User: e.User})
			}
		}
	}
	m.show(ctx, board, users)
	for _, f := range frames {
		for i := range f.Entries {
			e := &f.Entries[i]
			shown := &users[index[e.User]]
			e.User, e.Profile = shown.User, shown.Profile
		}
	}
}
