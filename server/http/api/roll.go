package api

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// seasons starts periods, and answers with how they ended.
type seasons struct {
	store  Boards
	boards *boards
	trail  Trail
	show   func(context.Context, scoreboard.BoardID, []scoreboard.Entry)
	log    *slog.Logger
}

// rollBoards is POST /v1/boards/roll and /v1/boards/{board}/roll: it runs the
// rollover now instead of within a second and, with a season in the body, starts
// that season. A season's audit entry is written in its transaction; that of an
// ordinary rollover, which is several transactions, before it.
func (h *seasons) rollBoards(c *gin.Context, caller *auth.Claims) error {
	var r wire.RollRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	var family scoreboard.BoardID
	if c.FullPath() == pathRoll {
		id, err := scoreboard.ParseBoardID(c.Param("board"))
		if err != nil {
			return err
		}
		b, err := h.store.FindBoard(c.Request.Context(), id)
		if err != nil {
			return err
		}
		if !b.IsFamily() {
			return scoreboard.Invalid("board", "board %s has no periods", id)
		}
		family = id
	}
	target := "board:" + cmp.Or(string(family), "*")
	out := wire.Rolled{Created: []string{}, Ended: []wire.EndedBoard{}, DryRun: r.DryRun}
	if r.Season != "" || r.StartsAt != nil || r.EndsAt != nil {
		if family == "" {
			return scoreboard.Invalid("season", "a season requires a board: POST /v1/boards/{board}/roll")
		}
		if err := h.beginSeason(c, caller, family, &r, &out); err != nil {
			return err
		}
	}
	made, ended, err := h.store.Roll(c.Request.Context(), family, true)
	if err == nil && !r.DryRun {
		if len(made)+len(ended) > 0 && !c.GetBool(keyAudited) {
			err = h.trail.Add(c.Request.Context(), auditEntry(c, caller, target))
		}
		if err == nil {
			made, ended, err = h.store.Roll(c.Request.Context(), family, false)
		}
	}
	if err != nil {
		return err
	}
	for _, id := range made {
		out.Created = append(out.Created, string(id))
	}
	for i := range ended {
		e := &ended[i]
		out.Ended = append(out.Ended, wire.EndedBoard{
			Board: string(e.Board.ID), PeriodEnd: e.Board.PeriodEnd, ClosedAt: timePtr(e.Board.Closed),
			Users: e.Users, StandingsHash: e.Board.StandingsHash,
		})
	}
	if r.DryRun || len(out.Created)+len(out.Ended) == 0 {
		skipAudit(c)
	}
	respond(c, http.StatusOK, out)
	return nil
}

func (h *seasons) beginSeason(
	c *gin.Context, caller *auth.Claims, family scoreboard.BoardID, r *wire.RollRequest, out *wire.Rolled,
) error {
	season, err := h.boards.parseSeason(r.Season, r.StartsAt, r.EndsAt)
	if err != nil {
		return err
	}
	why := auditEntry(c, caller, "board:"+string(family))
	interrupted, err := h.store.BeginSeason(c.Request.Context(), family, *season, r.DryRun, why)
	if err != nil {
		return err
	}
	if out.Created = append(out.Created, string(family.Instance(*season))); interrupted != nil {
		out.Interrupted = string(*interrupted)
	}
	requestLog(h.log, c).Info("season started", "board", family, "season", season.Name, "dry", r.DryRun)
	return nil
}

// finalStandings is GET /v1/boards/{board}/standings: the standings at the end of
// the period, without users who are banned now, and as of now under pseudonyms.
func (h *seasons) finalStandings(c *gin.Context, caller *auth.Claims) error {
	limit, err := queryInt(c, "limit", defaultBoards, 1, maxBoards)
	if err != nil {
		return err
	}
	after, err := queryInt(c, "after", 0, 0, math.MaxInt)
	if err != nil {
		return err
	}
	b, err := h.boards.findBoard(c, caller)
	if err != nil {
		return err
	}
	e, rows, err := h.store.FinalStandings(c.Request.Context(), b.ID, int64(after), limit)
	if err != nil {
		return err
	}
	out := wire.FinalStandings{
		Board: string(b.ID), ClosedAt: e.Board.Closed, Users: e.Users,
		StandingsHash: e.Board.StandingsHash, StandingsVersion: e.Board.StandingsVersion,
		Entries: make([]wire.FinalEntry, len(rows)),
	}
	shown := make([]scoreboard.Entry, len(rows))
	for i := range rows {
		shown[i] = rows[i].Entry
	}
	h.show(c.Request.Context(), b.ID, shown)
	shown = rowsFor(caller, shown)
	for i := range rows {
		f := &rows[i]
		out.Entries[i] = wire.FinalEntry{
			Rank: f.Rank, UserID: string(shown[i].User), Score: int64(f.Score), ReachedAt: f.ReachedAt, Leaf: f.Leaf,
			Subscore: subscoreJSON(&e.Board, f.Subscore),
		}
		if !shown[i].Hidden() { // with the salt, anyone could try ids until the leaf matches
			out.Entries[i].Salt = f.Salt
		}
	}
	if len(rows) == limit {
		out.NextAfter = rows[limit-1].Ordinal
	}
	respond(c, http.StatusOK, out)
	return nil
}
