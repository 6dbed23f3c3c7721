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

// PastBoards reads past standings.
type PastBoards interface {
	// Board returns the instance of a family at a moment.
	Board(ctx context.Context, family scoreboard.BoardID, at time.Time) (*scoreboard.Board, error)
	Top(
		ctx context.Context, board *scoreboard.Board, at scoreboard.PastTime, after *scoreboard.Position, limit int,
	) (*scoreboard.Top, error)
	Place(
		ctx context.Context, board *scoreboard.Board, at scoreboard.PastTime, user scoreboard.UserID, k int,
	) (*scoreboard.Place, error)
	// History returns a user's score and rank at times, which rise.
	History(
		ctx context.Context, board *scoreboard.Board, at scoreboard.PastTime, user scoreboard.UserID, times []time.Time,
	) ([]scoreboard.RankPoint, error)
	// AllTimeRanks returns the statistics of all samples of a user's ranks; nil without one.
	AllTimeRanks(
		ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID,
	) (*scoreboard.AllTimeRanks, error)
	// Timeline returns the first rows of a board at times, which rise, where they changed, and how
	// many of the times it covers.
	Timeline(
		ctx context.Context, board *scoreboard.Board, at scoreboard.PastTime, times []time.Time, limit int,
	) (frames []scoreboard.Frame, covered int, err error)
	// Explain returns what a user's rank follows from, with the latest events.
	Explain(
		ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, limit int,
	) (*scoreboard.Explanation, error)
}

// maxAhead is how far a client's clock may be ahead of ours: up to there a moment that has not
// come yet is not_settled.
const maxAhead = time.Minute

// pastReads finds the time of a read, and the board that a name meant at it.
type pastReads struct {
	store PastBoards
	now   clock
}

// queryPast parses at and as of the query; nil without at. Parameters that only make sense
// for the present must be absent.
func (s *pastReads) queryPast(c *gin.Context, caller *auth.Claims, present ...string) (*scoreboard.PastTime, error) {
	at, err := queryTime(c, "at")
	if err != nil {
		return nil, err
	}
	m, err := parseAs(c, caller)
	switch {
	case err != nil:
		return nil, err
	case at.IsZero() && c.Query("as") != "":
		return nil, scoreboard.Invalid("as", "as requires at")
	case at.IsZero():
		return nil, nil
	case at.After(s.now().Add(maxAhead)):
		return nil, scoreboard.Invalid("at", "at is in the future")
	}
	for _, name := range present {
		if c.Query(name) != "" {
			return nil, scoreboard.Invalid(name, "%s cannot be combined with at", name)
		}
	}
	// What was recorded in the same microsecond, the unit of recorded times, is included.
	m.At = at.Truncate(time.Microsecond)
	return &m, nil
}

// parseAs parses as of the query. Users who are banned now are shown to servers and operators
// only (decision 46).
func parseAs(c *gin.Context, caller *auth.Claims) (m scoreboard.PastTime, err error) {
	m.Masked = !actsForAll(caller)
	switch c.Query("as") {
	case "", "recorded":
	case "now":
		m.Now = true
	default:
		err = scoreboard.Invalid("as", "as must be recorded or now")
	}
	return m, err
}

// boardAt returns the board that a name meant at a moment, for a board that it means now.
func (s *pastReads) boardAt(
	ctx context.Context, board *scoreboard.Board, name string, at *scoreboard.PastTime,
) (*scoreboard.Board, error) {
	if id := scoreboard.BoardID(name); name == "" || id.IsInstance() || !board.ID.IsInstance() {
		return board, nil
	}
	return s.store.Board(ctx, board.Family, at.At)
}

// topAt answers with the top of a board at a moment.
func (h *topReads) topAt(c *gin.Context, caller *auth.Claims, q topQuery, at *scoreboard.PastTime) error {
	top, err := h.pastBoards.Top(c.Request.Context(), q.board, *at, q.after, q.limit)
	if err != nil {
		return err
	}
	h.show(c.Request.Context(), top.Board, top.Entries)
	top.Entries = rowsFor(caller, top.Entries)
	out := h.pages.topJSON(top, q.board, q.limit)
	out.Version, out.Epoch = nil, nil
	out.AgeMS = h.now.age(top.AsOf)
	h.metadata.addToTop(c.Request.Context(), q.board, out, at.At)
	respond(c, http.StatusOK, out)
	return nil
}

// placeAt answers with a user's standing at a moment.
func (h *places) placeAt(c *gin.Context, caller *auth.Claims, q placeQuery, at *scoreboard.PastTime) error {
	ctx := c.Request.Context()
	p, err := h.pastBoards.Place(ctx, q.board, *at, q.id, q.k)
	if err != nil {
		if c.FullPath() == pathMe {
			err = h.reasons.explainBan(ctx, caller.User, err)
		}
		return aboutUser(err, q.user)
	}
	h.show(ctx, p.Board, p.Neighbours)
	revealUser(p.Neighbours, p.User)
	out := &wire.Place{
		Board: string(p.Board), UserID: string(p.User), Score: int64(p.Score), Rank: p.Rank, Total: p.Total,
		Percentile: p.Percentile(), UpdatedAt: p.UpdatedAt, AsOf: p.AsOf, AgeMS: h.now.age(p.AsOf),
		Neighbours: entriesJSON(q.board, rowsFor(caller, p.Neighbours)), Subscore: subscoreJSON(q.board, p.Subscore),
		Degraded: p.Degraded != "", DegradedReason: p.Degraded,
	}
	h.metadata.addToPlace(ctx, q.board, out, caller, at.At)
	respond(c, http.StatusOK, out)
	return nil
}
