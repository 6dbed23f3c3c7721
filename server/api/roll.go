package api

import (
	"cmp"
	"math"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// rollBoards is POST /v1/boards/roll and /v1/boards/{board}/roll: what the
// rollover would do by itself within a second or, with a season in the body,
// the beginning of that season. A season is in the trail where it is in the
// store; what would come by itself, once it is done.
func (a *API) rollBoards(c *gin.Context, who *auth.Claims) error {
	var r protocol.RollRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	var family scoreboard.BoardID
	if c.FullPath() == "/v1/boards/:board/roll" {
		id, err := scoreboard.ParseBoardID(c.Param("board"))
		if err != nil {
			return err
		}
		b, err := a.Boards.FindBoard(c.Request.Context(), id)
		if err != nil {
			return err
		}
		if !b.IsFamily() {
			return scoreboard.Invalid("board", "board %s has no periods", id)
		}
		family = id
	}
	about(c, "board", cmp.Or(string(family), "*"))
	out := protocol.Rolled{Made: []string{}, Ended: []protocol.EndedBoard{}, DryRun: r.DryRun}
	if r.Season != "" || r.StartsAt != nil || r.EndsAt != nil {
		if family == "" {
			return scoreboard.Invalid("season", "name the board that the season is of")
		}
		if err := a.beginSeason(c, who, family, &r, &out); err != nil {
			return err
		}
	}
	made, ended, err := a.Boards.Roll(c.Request.Context(), family, r.DryRun)
	if err != nil {
		return err
	}
	for _, id := range made {
		out.Made = append(out.Made, string(id))
	}
	for i := range ended {
		e := &ended[i]
		out.Ended = append(out.Ended, protocol.EndedBoard{
			Board: string(e.Board.ID), PeriodEnd: e.Board.PeriodEnd, ClosedAt: present(e.Board.Closed), Users: e.Users, StandingsHash: e.Board.StandingsHash,
		})
	}
	if r.DryRun || len(out.Made)+len(out.Ended) == 0 {
		unchanged(c)
	}
	respond(c, http.StatusOK, out)
	return nil
}

func (a *API) beginSeason(c *gin.Context, who *auth.Claims, family scoreboard.BoardID, r *protocol.RollRequest, out *protocol.Rolled) error {
	season, err := a.season(r.Season, r.StartsAt, r.EndsAt)
	if err != nil {
		return err
	}
	interrupted, err := a.Boards.BeginSeason(c.Request.Context(), family, *season, r.DryRun, told(c, who, "board:"+string(family)))
	if err != nil {
		return err
	}
	if out.Made = append(out.Made, string(family.Instance(*season))); interrupted != nil {
		out.Interrupted = string(*interrupted)
	}
	a.Log.Info("season begun", "board", family, "season", season.Name, "dry", r.DryRun)
	return nil
}

// finalStandings is GET /v1/boards/{board}/standings: as they were when the
// period ended, without who is banned now.
func (a *API) finalStandings(c *gin.Context, who *auth.Claims) error {
	limit, err := queryInt(c, "limit", defaultBoards, 1, maxBoards)
	if err != nil {
		return err
	}
	after, err := queryInt(c, "after", 0, 0, math.MaxInt)
	if err != nil {
		return err
	}
	b, err := a.findBoard(c, who)
	if err != nil {
		return err
	}
	e, rows, err := a.Boards.FinalStandings(c.Request.Context(), b.ID, int64(after), limit)
	if err != nil {
		return err
	}
	out := protocol.FinalStandings{
		Board: string(b.ID), ClosedAt: e.Board.Closed, Users: e.Users, StandingsHash: e.Board.StandingsHash,
		Entries: make([]protocol.FinalEntry, len(rows)),
	}
	for i := range rows {
		f := &rows[i]
		out.Entries[i] = protocol.FinalEntry{Rank: f.Rank, UserID: string(f.User), Score: int64(f.Score), ReachedAt: f.ReachedAt}
	}
	if len(rows) == limit {
		out.NextAfter = rows[limit-1].Rank
	}
	respond(c, http.StatusOK, out)
	return nil
}
