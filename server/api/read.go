package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The bounds of reads.
const (
	defaultLimit  = 10
	maxNeighbours = 50
	defaultAround = 5
)

// top is GET /v1/leaderboard/top.
func (a *API) top(c *gin.Context, who *auth.Claims) error {
	limit, err := queryInt(c, "limit", defaultLimit, 1, scoreboard.TopSize)
	if err != nil {
		return err
	}
	board, err := queryBoard(c)
	if err != nil {
		return err
	}
	if newer, err := a.wait(c, who, board); !newer {
		return err
	}
	top, err := a.Reads.Top(c.Request.Context(), board)
	if err != nil {
		return err
	}
	out := protocol.Top{
		Board: string(top.Board), Entries: entriesJSON(top.Entries[:min(limit, len(top.Entries))]), Total: top.Total,
		UpdatedAt: top.UpdatedAt, AsOf: top.AsOf, AgeMS: a.age(top.AsOf), DegradedReason: top.Degraded, Degraded: top.Degraded != "",
	}
	if !out.Degraded {
		out.Version, out.Epoch = &top.Version, &top.Epoch
	}
	respond(c, http.StatusOK, out)
	return nil
}

// maxWait is the longest that a long poll is held.
const maxWait = 30 * time.Second

// wait holds a long poll (wait and after in the query) until the board is
// newer than after. It answers 304 itself where that does not come in time.
func (a *API) wait(c *gin.Context, who *auth.Claims, board scoreboard.BoardID) (newer bool, err error) {
	text, given := c.GetQuery("wait")
	if !given || a.Live == nil {
		return true, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait <= 0 || wait > maxWait {
		return false, scoreboard.Invalid("wait", "wait must be a duration of at most %s, such as 25s", maxWait)
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), wait)
	defer cancel()
	err = a.Live.Wait(ctx, Viewer{
		User: who.User, Address: address(c.Request), Expires: who.Expires, Board: board, Limit: scoreboard.TopSize, Last: c.Query("after"),
	})
	if errors.Is(err, context.DeadlineExceeded) {
		c.Status(http.StatusNotModified)
		return false, nil
	}
	return err == nil, err
}

// me is GET /v1/leaderboard/me.
func (a *API) me(c *gin.Context, who *auth.Claims) error { return a.place(c, who.User, 0) }

// user is GET /v1/users/{user_id}/score and …/rank.
func (a *API) user(c *gin.Context, _ *auth.Claims) error {
	user, err := scoreboard.ParseUserID(c.Param("user_id"))
	if err != nil {
		return err
	}
	around := 0
	if c.FullPath() == "/v1/users/:user_id/rank" {
		around = defaultAround
	}
	return a.place(c, user, around)
}

func (a *API) place(c *gin.Context, user scoreboard.UserID, around int) error {
	k, err := queryInt(c, "k", around, 0, maxNeighbours)
	if err != nil {
		return err
	}
	board, err := queryBoard(c)
	if err != nil {
		return err
	}
	p, err := a.Reads.Place(c.Request.Context(), board, user, k)
	if err != nil {
		return err
	}
	out := protocol.Place{
		Board: string(p.Board), UserID: string(p.User), Score: int64(p.Score), Rank: p.Rank, Total: p.Total,
		Percentile: p.Percentile(), UpdatedAt: p.UpdatedAt, AsOf: p.AsOf, AgeMS: a.age(p.AsOf),
		Degraded: p.Degraded != "", DegradedReason: p.Degraded,
	}
	if p.Neighbours != nil {
		out.Neighbours = entriesJSON(p.Neighbours)
	}
	if !out.Degraded {
		out.Version, out.Epoch = &p.Version, &p.Epoch
	}
	respond(c, http.StatusOK, out)
	return nil
}

func entriesJSON(entries []scoreboard.Entry) []protocol.Entry {
	out := make([]protocol.Entry, len(entries))
	for i, e := range entries {
		out[i] = protocol.Entry{Rank: e.Rank, UserID: string(e.User), Score: int64(e.Score)}
	}
	return out
}

// age is how old an answer is that holds everything committed before asOf.
func (a *API) age(asOf time.Time) int64 { return max(a.Now().Sub(asOf).Milliseconds(), 0) }
