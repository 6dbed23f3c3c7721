package api

import (
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// live is GET /v1/realtime/leaderboard: a WebSocket, or an event stream.
func (a *API) live(c *gin.Context, who *auth.Claims) error {
	// Browsers send an Origin; a page that is not on the list could use its
	// visitor's network.
	if origin := c.GetHeader("Origin"); origin != "" && !slices.Contains(a.Origins, origin) {
		return scoreboard.Errorf(scoreboard.CodeForbidden, "origin %.100s is not allowed", origin)
	}
	board, err := queryBoard(c)
	if err != nil {
		return err
	}
	limit, err := queryInt(c, "limit", defaultLimit, 1, scoreboard.TopSize)
	if err != nil {
		return err
	}
	if limit != defaultLimit && limit != scoreboard.TopSize {
		return scoreboard.Invalid("limit", "limit must be %d or %d", defaultLimit, scoreboard.TopSize)
	}
	if _, err := a.Catalog.Board(c.Request.Context(), board); err != nil {
		return err
	}
	last := c.GetHeader("Last-Event-ID")
	if last == "" {
		last = c.Query("last_event_id")
	}
	return a.Live.Serve(c.Writer, c.Request, Viewer{
		User: who.User, Address: address(c.Request), Expires: who.Expires, Board: board, Limit: limit,
		Delta: c.Query("delta") == "1", Last: last,
	})
}
