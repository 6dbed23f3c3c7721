package api

import (
	"math"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// nobody is who comes without a token, where that is allowed.
var nobody = &auth.Claims{}

// openTo are the routes that may be open to nobody: reads of public boards.
var openTo = map[string]bool{
	topPath: true, listPath: true, scorePath: true, rankPath: true, livePath: true,
}

const (
	topPath   = "/v1/leaderboard/top"
	mePath    = "/v1/leaderboard/me"
	listPath  = "/v1/leaderboard/users"
	scorePath = "/v1/users/:user_id/score"
	rankPath  = "/v1/users/:user_id/rank"
)

// takeRate lets a caller in, or says rate_limited. Who has no name is known by
// the address.
func (a *API) takeRate(c *gin.Context, r route, who *auth.Claims) error {
	if who == nobody {
		return take(c.Request.Context(), a.Limits.Anonymous, address(c.Request))
	}
	return r.rate.take(c.Request.Context(), who)
}

// orHeld gives who asks too often an answer that is at hand and not old, with
// the time to wait beside it; where there is none, the refusal.
func (a *API) orHeld(c *gin.Context, r route, who *auth.Claims, refusal error) error {
	var held func(*gin.Context, *auth.Claims) (bool, error)
	switch r.path {
	case topPath:
		held = a.heldTop
	case mePath, scorePath, rankPath:
		held = a.heldPlace
	default:
		return refusal
	}
	wait := retryAfter(refusal)
	c.Writer.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	if ok, err := held(c, who); ok || err != nil {
		return err
	}
	return refusal
}

// visible says whether who asks may see a board: a private one is for servers
// and operators, and what is their own for its users.
func visible(board *scoreboard.Board, who *auth.Claims, own bool) error {
	switch {
	case board.Public || own || who.Has(auth.ScopeUpdate) || who.Has(auth.ScopeAdmin):
		return nil
	case who == nobody:
		return scoreboard.Errorf(scoreboard.CodeUnauthorized, "board %s is private: a bearer token is required", board.ID)
	}
	return scoreboard.Errorf(scoreboard.CodeForbidden, "board %s is private", board.ID)
}
