package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// explainedEvents is how many events an explanation has; the statement has all.
const explainedEvents = 10

// explanations answers what a user's rank follows from.
type explanations struct {
	store     PastBoards
	reads     Leaderboard
	boards    *userBoards
	reasons   *reasons
	subscores subscoreBoards
	show      func(context.Context, scoreboard.BoardID, []scoreboard.Entry)
}

// explain is GET /v1/users/{user_id}/rank/explain, for the user and for operators.
func (h *explanations) explain(c *gin.Context, caller *auth.Claims) error {
	user, err := pathUser(c, caller)
	if err != nil {
		return err
	}
	if user != caller.User && !caller.Has(auth.ScopeOperate) {
		return scoreboard.Errorf(wire.CodeForbidden, "the token is not for user %s", user)
	}
	board, err := h.boards.boardOf(c, caller, user, false)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	e, err := h.store.Explain(ctx, board, user, explainedEvents)
	if err != nil {
		return h.reasons.explainPrivate(user, h.reasons.explainBan(ctx, user, err))
	}
	for _, n := range []*scoreboard.Neighbour{e.Above, e.Below} {
		if n != nil {
			shown := []scoreboard.Entry{n.Entry}
			h.show(ctx, board.ID, shown)
			n.Entry = rowsFor(caller, shown)[0]
		}
	}
	first := []scoreboard.Entry{{User: e.First.User}}
	h.show(ctx, board.ID, first)
	revealUser(first, user)
	e.First.User = rowsFor(caller, first)[0].User
	out := explanationJSON(e, board)
	if !actsForAll(caller) && !board.Public { // who else is on a private board
		out.Above, out.Below, out.Tie.First, out.Tie.FirstAt = nil, nil, "", nil
	}
	h.subscores.statementFor(ctx, caller, e.Latest, out.Latest)
	if live, err := h.reads.Place(ctx, board, user, 0, 0); err == nil {
		out.Ranking = &wire.RankingAnswer{
			Score: int64(live.Score), Rank: live.Rank, AsOf: live.AsOf, Degraded: live.Degraded != "",
			DegradedReason: live.Degraded, Subscore: subscoreJSON(board, live.Subscore),
			Agrees: live.Score == e.Place.Score && live.Subscore == e.Place.Subscore && live.Rank == out.Rank,
		}
	}
	respond(c, http.StatusOK, out)
	return nil
}

func explanationJSON(e *scoreboard.Explanation, board *scoreboard.Board) *wire.RankExplanation {
	p := e.Place
	out := &wire.RankExplanation{
		Board: string(p.Board), UserID: string(p.User), Score: int64(p.Score), Rank: p.Rank, Total: p.Total,
		ReachedAt: p.UpdatedAt, AsOf: p.AsOf, HiddenAhead: e.HiddenAhead, Events: e.Events,
		Subscore: subscoreJSON(board, p.Subscore),
		Above:    neighbourJSON(board, e.Above, p.Score), Below: neighbourJSON(board, e.Below, p.Score),
		Tie: wire.RankTie{Users: e.Tied, Ahead: e.Ahead, First: string(e.First.User), FirstAt: &e.First.ReachedAt},
		Sources: wire.ScoreSources{
			Submitted: int64(e.Sources.Submitted), Adjusted: int64(e.Sources.Adjusted),
			Reversed: int64(e.Sources.Reversed), Reinstated: int64(e.Sources.Reinstated),
			Imported: int64(e.Sources.Imported), Archived: int64(e.Sources.Archived),
		},
		Latest: make([]wire.StatementEntry, len(e.Latest)),
	}
	if e.More {
		out.NextCursor = formatPosition(e.Latest[len(e.Latest)-1].Position())
	}
	return out
}

func neighbourJSON(board *scoreboard.Board, n *scoreboard.Neighbour, score scoreboard.Score) *wire.RankNeighbour {
	if n == nil {
		return nil
	}
	return &wire.RankNeighbour{
		Entry: entriesJSON(board, []scoreboard.Entry{n.Entry})[0], ReachedAt: n.ReachedAt,
		Difference: int64(max(n.Score-score, score-n.Score)),
	}
}
