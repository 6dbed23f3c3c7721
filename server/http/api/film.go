package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The bounds of one part of a film.
const (
	maxFilmSteps = 500
	maxFilmRows  = 10_000 // of all frames
	defaultSteps = 250    // of a film whose step the server chooses
	filmSpan     = 24 * time.Hour
	// filmDelay is how long before now a film ends by default: by then a moment is settled.
	filmDelay = 2 * time.Second
)

// filmQuery are the parameters of a film.
type filmQuery struct {
	board    *scoreboard.Board
	moment   scoreboard.Moment // as of
	from, to time.Time
	step     time.Duration
	limit    int
}

// films answers with the rows that a board had.
type films struct {
	store  Moments
	past   *moments
	access *boardAccess
	show   func(context.Context, scoreboard.BoardID, []scoreboard.Entry)
	now    clock
}

// film is GET /v1/leaderboard/film.
func (m *films) film(c *gin.Context, caller *auth.Claims) error {
	name := c.Query("board")
	return m.answerFilm(c, caller, name, func() (*scoreboard.Board, error) {
		return m.access.readableBoard(c, caller, name)
	})
}

// pageFilm is GET /b/{board}/film.
func (d *pageData) pageFilm(c *gin.Context, _ *auth.Claims) error {
	return d.films.answerFilm(c, anonymous, c.Param("board"), func() (*scoreboard.Board, error) {
		return d.boards.listed(c)
	})
}

// answerFilm answers with a part of a film of a board, by its name and as what the name means now.
func (m *films) answerFilm(
	c *gin.Context, caller *auth.Claims, name string, named func() (*scoreboard.Board, error),
) error {
	q, err := m.filmQuery(c, caller, name, named)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	times := q.times()
	frames, covered, err := m.store.Film(ctx, q.board, q.moment, times, q.limit)
	if err != nil {
		return err
	}
	m.showFrames(ctx, q.board.ID, frames)
	out := wire.Film{
		Board: string(q.board.ID), Start: q.from, End: q.to, StepMS: q.step.Milliseconds(),
		Frames: make([]wire.FilmFrame, len(frames)),
	}
	for i, f := range frames {
		out.Frames[i] = wire.FilmFrame{
			At: f.At, Total: f.Total, Entries: protocol.Entries(rowsFor(caller, f.Entries)),
		}
	}
	if last := times[covered-1]; last.Before(q.to) {
		out.NextFrom = new(q.after(last))
	}
	respond(c, http.StatusOK, out)
	return nil
}

// filmQuery parses the query. Without from, a film is of a whole period, or of a day.
func (m *films) filmQuery(
	c *gin.Context, caller *auth.Claims, name string, named func() (*scoreboard.Board, error),
) (q filmQuery, err error) {
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
		if q.board, err = m.past.boardAt(c.Request.Context(), q.board, name, &scoreboard.Moment{At: at}); err != nil {
			return q, err
		}
	}
	q.complete(now)
	return q, nil
}

// complete sets what the query leaves out, and ends the film where the board ended.
func (q *filmQuery) complete(now time.Time) {
	b := q.board
	if q.to.IsZero() {
		q.to = now.Add(-filmDelay)
	}
	if b.Ended() && !b.Closed.IsZero() && q.to.After(b.Closed) {
		q.to = b.Closed
	}
	if q.from.IsZero() {
		if q.from = b.PeriodStart; q.from.IsZero() {
			q.from = q.to.Add(-filmSpan)
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
func (q *filmQuery) times() []time.Time {
	times := []time.Time{q.from}
	for at := q.from; at.Before(q.to) && len(times) < min(maxFilmSteps, maxFilmRows/q.limit); {
		at = q.after(at)
		times = append(times, at)
	}
	return times
}

// after is the time that follows another one: a step later, but the film ends at to.
func (q *filmQuery) after(at time.Time) time.Time {
	if next := at.Add(q.step); next.Before(q.to) {
		return next
	}
	return q.to
}

// showFrames hides users in the rows of frames, and adds the profiles of the others, as in all
// rows that everyone sees. A film has a few users in many rows.
func (m *films) showFrames(ctx context.Context, board scoreboard.BoardID, frames []scoreboard.Frame) {
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
