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

// The points of a rank history.
const (
	maxPoints      = 1000
	defaultPoints  = 25 // a day in hours, with both ends
	minStep        = time.Second
	maxStep        = 366 * 24 * time.Hour
	defaultStep    = time.Hour
	highlightRanks = 10
)

// pathUser is the user of a path in which "me" is the token's user.
func pathUser(c *gin.Context, caller *auth.Claims) (scoreboard.UserID, error) {
	if c.Param("user_id") == "me" && caller.User != "" {
		return caller.User, nil
	}
	return caller.UserID(c.Param("user_id"))
}

// queryStep parses step of the query; 0 without one.
func queryStep(c *gin.Context) (time.Duration, error) {
	text := c.Query("step")
	if text == "" {
		return 0, nil
	}
	step, err := time.ParseDuration(text)
	if err != nil || step < minStep || step > maxStep {
		return 0, scoreboard.Invalid("step", "step must be a duration of 1s to 8784h, such as 1h")
	}
	return step, nil
}

// histories answers with the ranks that a user had.
type histories struct {
	store   PastBoards
	past    *pastReads
	boards  *userBoards
	lookups *lookups
	reasons *reasons
	now     clock
}

// historyTimes parses from, to and step of the query: the times of the points, which rise. The
// last one is to, or the last whole step before now, if from does not decide.
func (s *histories) historyTimes(c *gin.Context) (times []time.Time, err error) {
	step, err := queryStep(c)
	if err != nil {
		return nil, err
	}
	if step == 0 {
		step = defaultStep
	}
	from, err := queryTime(c, "from")
	if err != nil {
		return nil, err
	}
	to, err := queryTime(c, "to")
	if err != nil {
		return nil, err
	}
	now := s.now()
	switch {
	case to.After(now.Add(maxAhead)):
		return nil, scoreboard.Invalid("to", "to is in the future")
	case to.IsZero() && from.IsZero():
		to = now.UTC().Truncate(step)
	case to.IsZero():
		to = now
	}
	if from.IsZero() {
		from = to.Add(-(defaultPoints - 1) * step)
	}
	from = from.Truncate(time.Microsecond)
	if from.After(to) {
		return nil, scoreboard.Invalid("from", "from must not be after to")
	}
	for at := from; !at.After(to); at = at.Add(step) {
		if len(times) == maxPoints {
			return nil, scoreboard.Invalid("step", "from, to and step make more than %d points; use a longer step",
				maxPoints)
		}
		times = append(times, at)
	}
	return times, nil
}

// history is GET /v1/users/{user_id}/history.
func (s *histories) history(c *gin.Context, caller *auth.Claims) error {
	user, err := pathUser(c, caller)
	if err != nil {
		return err
	}
	moment, err := parseAs(c, caller)
	if err != nil {
		return err
	}
	times, err := s.historyTimes(c)
	if err != nil {
		return err
	}
	board, err := s.boards.boardOf(c, caller, user, false)
	if err != nil {
		return err
	}
	moment.At = times[len(times)-1]
	ctx := c.Request.Context()
	if board, err = s.past.boardAt(ctx, board, c.Query("board"), &moment); err != nil {
		return err
	}
	h, err := s.rankHistory(ctx, board, moment, caller, user, times)
	if err != nil {
		if user == caller.User {
			err = s.reasons.explainPrivate(user, s.reasons.explainBan(ctx, user, err))
		}
		return aboutUser(err, user)
	}
	respond(c, http.StatusOK, h)
	return nil
}

// rankHistory reads a user's ranks and, only for those who may read them, the all-time ranks. These count what
// was reversed later, so there are none with as=now.
func (s *histories) rankHistory(
	ctx context.Context, board *scoreboard.Board, moment scoreboard.PastTime, caller *auth.Claims,
	user scoreboard.UserID, times []time.Time,
) (*wire.RankHistory, error) {
	id := s.lookups.lookUp(ctx, caller, user)
	points, err := s.store.History(ctx, board, moment, id, times)
	if err != nil {
		return nil, err
	}
	h := historyJSON(board, user, points)
	if moment.Now {
		return h, nil
	}
	m, err := s.store.AllTimeRanks(ctx, board.ID, id)
	if m != nil {
		h.AllTime = &wire.AllTimeRanks{
			BestRank: m.BestRank, BestRankAt: m.BestRankAt, DaysInTop10: m.DaysInTop10, Since: m.Since,
			Climb: (*wire.RankClimb)(m.Climb), Samples: "hourly",
		}
	}
	return h, err
}

// pageHistory is GET /b/{board}/players/{user_id}/history: of the last day, or of the last day of
// a board that has ended.
func (d *pageData) pageHistory(c *gin.Context, caller *auth.Claims) error {
	user, err := caller.UserID(c.Param("user_id"))
	if err != nil {
		return err
	}
	board, err := d.boards.listed(c)
	if err != nil {
		return err
	}
	last := d.now().UTC().Truncate(defaultStep)
	if board.Ended() && !board.Closed.IsZero() {
		last = board.Closed.UTC()
	}
	var times []time.Time
	for i := range defaultPoints {
		times = append(times, last.Add(time.Duration(i+1-defaultPoints)*defaultStep))
	}
	ctx := c.Request.Context()
	moment := scoreboard.PastTime{At: last, Masked: true}
	h, err := d.histories.rankHistory(ctx, board, moment, caller, user, times)
	if err != nil {
		return aboutUser(err, user)
	}
	setPageCache(c)
	respond(c, http.StatusOK, h)
	return nil
}

// historyJSON also summarises the points, of which one has a rank.
func historyJSON(
	board *scoreboard.Board, user scoreboard.UserID, points []scoreboard.RankPoint,
) *wire.RankHistory {
	h := &wire.RankHistory{
		Board: string(board.ID), UserID: string(user), Points: make([]wire.RankPoint, len(points)),
	}
	var lastDay time.Time
	for i := range points {
		p := &points[i]
		h.Points[i] = wire.RankPoint{At: p.At, Total: p.Total}
		if p.Rank == 0 {
			continue
		}
		h.Points[i].Score, h.Points[i].Rank = (*int64)(&p.Score), &p.Rank
		h.Points[i].Subscore = subscoreJSON(board, p.Subscore)
		if h.BestRank == 0 || p.Rank < h.BestRank {
			h.BestRank, h.BestRankAt = p.Rank, p.At
		}
		if day := p.At.UTC().Truncate(24 * time.Hour); p.Rank <= highlightRanks && !day.Equal(lastDay) {
			h.DaysInTop10, lastDay = h.DaysInTop10+1, day
		}
		if i == 0 || points[i-1].Rank == 0 {
			continue
		}
		ranks := points[i-1].Rank - p.Rank
		if ranks > 0 && (h.Climb == nil || ranks > h.Climb.Ranks) {
			h.Climb = &wire.RankClimb{Began: points[i-1].At, Ended: p.At, Ranks: ranks}
		}
	}
	return h
}
