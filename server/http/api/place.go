package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// placeQuery are the parameters of a read of one user.
type placeQuery struct {
	board      *scoreboard.Board
	user       scoreboard.UserID
	id         scoreboard.UserID // that is looked up: the user, or nobody
	k          int
	minVersion int64
	pair       *scoreboard.Pair     // ranked if the user is not on the board
	at         *scoreboard.PastTime // nil: now
}

// places answers with the standings of single users.
type places struct {
	reads      Leaderboard
	metadata   *metadata
	pastBoards PastBoards
	past       *pastReads
	boards     *userBoards
	lookups    *lookups
	reasons    *reasons
	show       func(context.Context, scoreboard.BoardID, []scoreboard.Entry)
	now        clock
}

func (h *places) placeQuery(c *gin.Context, caller *auth.Claims) (q placeQuery, err error) {
	q.user = caller.User
	if text, given := c.Params.Get("user_id"); given {
		if q.user, err = caller.UserID(text); err != nil {
			return q, err
		}
	}
	around := 0
	if c.FullPath() == pathRank {
		around = defaultAround
	}
	if q.k, err = queryInt(c, "k", around, 0, maxNeighbours); err != nil {
		return q, err
	}
	if q.minVersion, err = queryVersion(c); err != nil {
		return q, err
	}
	if q.pair, err = queryPair(c); err != nil {
		return q, err
	}
	if q.at, err = h.past.queryPast(c, caller, "min_version", "score", "subscore"); err != nil {
		return q, err
	}
	q.board, err = h.boards.boardOf(c, caller, q.user, q.k > 0 || q.pair != nil)
	if err == nil && c.Query("subscore") != "" && !q.board.HasSubscores() {
		err = scoreboard.Invalid("subscore", "board %s has no subscores", q.board.ID)
	}
	if err == nil {
		q.id = h.lookups.lookUp(c.Request.Context(), caller, q.user)
	}
	if err == nil && q.at != nil {
		q.board, err = h.past.boardAt(c.Request.Context(), q.board, c.Query("board"), q.at)
	}
	return q, err
}

// queryPair parses score and subscore of the query: a position that nobody need be in; nil without.
func queryPair(c *gin.Context) (*scoreboard.Pair, error) {
	var pair scoreboard.Pair
	given := 0
	for _, f := range []struct {
		name string
		to   *scoreboard.Score
	}{{"score", &pair.Score}, {"subscore", &pair.Subscore}} {
		text := c.Query(f.name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if *f.to = scoreboard.Score(n); err != nil || !f.to.InRange() {
			return nil, scoreboard.Invalid(f.name, "%s must be an integer within ±(2^53 − 1)", f.name)
		}
		given++
	}
	switch {
	case given == 0:
		return nil, nil //nolint:nilnil // most reads are of users who are on the board
	case c.Query("score") == "":
		return nil, scoreboard.Invalid("score", "subscore requires score")
	}
	return &pair, nil
}

// userBoards finds the board of a read of one user.
type userBoards struct {
	access  *boardAccess
	catalog Catalog
	reads   Leaderboard
}

// boardOf returns the board of a read of one user. On a private board users may read their own
// standing, but not those of others.
func (u *userBoards) boardOf(
	c *gin.Context, caller *auth.Claims, user scoreboard.UserID, others bool,
) (*scoreboard.Board, error) {
	board, err := boardOrGlobal(c.Query("board"))
	if err != nil {
		return nil, err
	}
	if user != caller.User || others || actsForAll(caller) {
		return u.access.board(c.Request.Context(), board, caller)
	}
	return u.ownBoard(c.Request.Context(), board, caller.User)
}

// ownBoard returns a public board, or a private one on which the user has a standing.
// Without one the user must not learn of the board: whether it exists makes no difference
// to what is looked up, nor to how long that takes.
func (u *userBoards) ownBoard(
	ctx context.Context, id scoreboard.BoardID, user scoreboard.UserID,
) (*scoreboard.Board, error) {
	board, hidden := u.catalog.PublicBoard(ctx, id)
	if hidden == nil {
		return board, nil
	}
	if board != nil {
		id = board.ID
	}
	has, err := u.reads.HasStanding(ctx, id, user)
	if err != nil && board != nil { // the ranking may know
		_, missing := u.reads.Place(ctx, board, user, 0, 0)
		has = missing == nil
	}
	switch {
	case has && board != nil:
		return board, nil
	case err != nil:
		return nil, err
	}
	return nil, hidden
}

// place is GET /v1/leaderboard/me, /v1/users/{user_id}/score and …/rank.
func (h *places) place(c *gin.Context, caller *auth.Claims) error {
	q, err := h.placeQuery(c, caller)
	if err != nil {
		return err
	}
	if q.at != nil {
		return h.placeAt(c, caller, q, q.at)
	}
	ctx := c.Request.Context()
	p, err := h.reads.Place(ctx, q.board, q.id, q.k, q.minVersion)
	if q.pair != nil && wire.CodeOf(err) == wire.CodeNotFound {
		rank, rankErr := h.reads.RankOf(ctx, q.board, *q.pair)
		if rankErr != nil {
			return rankErr
		}
		return &scoreboard.Error{
			Code: wire.CodeNotFound, WouldRank: rank,
			Message: "user " + string(q.user) + " has no score on board " + string(q.board.ID),
		}
	}
	if err != nil && c.FullPath() == pathMe {
		err = h.reasons.explainBan(ctx, q.user, err)
	}
	if err != nil {
		return aboutUser(err, q.user)
	}
	out := placeJSON(p, q.board, caller, h.now)
	if q.user == caller.User || actsForAll(caller) {
		out.AttemptsLeft = h.attemptsLeft(ctx, q.board, q.user)
	}
	out.EndsAt, out.NextReset = periodTimes(ctx, h.boards.catalog, q.board, h.now)
	h.metadata.addToPlace(ctx, q.board, out, caller, time.Time{})
	respondPlace(c, out)
	return nil
}

// attemptsLeft returns how many more events of a user a board records in its period; nil
// without a limit, and while the store does not answer.
func (h *places) attemptsLeft(
	ctx context.Context, board *scoreboard.Board, user scoreboard.UserID,
) *int64 {
	if board.Attempts == 0 {
		return nil
	}
	used, err := h.reads.AttemptsUsed(ctx, board.ID, user)
	if err != nil {
		return nil
	}
	return board.AttemptsLeft(used)
}

// stalePlace answers with the cached standing, and reports whether there was one.
func (h *places) stalePlace(c *gin.Context, caller *auth.Claims) (bool, error) {
	q, err := h.placeQuery(c, caller)
	if err != nil || q.at != nil || q.minVersion > 0 {
		return false, err
	}
	p := h.reads.CachedPlace(q.board.ID, q.id, q.k)
	if p == nil {
		return false, nil
	}
	respondPlace(c, placeJSON(p, q.board, caller, h.now))
	return true, nil
}

func placeJSON(p *scoreboard.Place, board *scoreboard.Board, caller *auth.Claims, now clock) *wire.Place {
	out := &wire.Place{
		Board: string(p.Board), UserID: string(p.User), Score: int64(p.Score), Rank: p.Rank, Total: p.Total,
		Percentile: p.Percentile(), UpdatedAt: p.UpdatedAt, AsOf: p.AsOf, AgeMS: now.age(p.AsOf),
		BoardState: string(p.State), Degraded: p.Degraded != "", DegradedReason: p.Degraded,
		Private: p.Private, Subscore: subscoreJSON(board, p.Subscore),
	}
	if p.Neighbours != nil {
		out.Neighbours = entriesJSON(board, rowsFor(caller, p.Neighbours))
	}
	if !out.Degraded && !out.Private {
		out.Version, out.Epoch = &p.Version, &p.Epoch
	}
	addTier(out, p, board)
	return out
}

func respondPlace(c *gin.Context, out *wire.Place) {
	respondJSON(c, http.StatusOK, out.AppendJSON(make([]byte, 0, 384+96*len(out.Neighbours))))
}
