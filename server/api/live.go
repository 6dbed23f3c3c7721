package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const livePath = "/v1/realtime/leaderboard"

// ticket is GET /v1/realtime/token: what a browser joins with, because it
// cannot send its bearer token there.
func (a *API) ticket(c *gin.Context, who *auth.Claims) error {
	board, err := queryBoard(c)
	if err != nil {
		return err
	}
	if err := a.canSee(who)(c.Request.Context(), board); err != nil {
		return err
	}
	ticket, expires, err := a.Tickets.Issue(c.Request.Context(), who, board)
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	respond(c, http.StatusOK, protocol.JoinTicket{Token: ticket, ExpiresAt: expires.UTC()})
	return nil
}

// join says who comes to watch: by a ticket in the query, or by a bearer token.
// Whose page it is comes first, so that a foreign one cannot use up tickets.
func (a *API) join(c *gin.Context) (*auth.Claims, error) {
	if !a.ownOrigin(c) {
		return nil, scoreboard.Errorf(scoreboard.CodeForbidden, "origin %.100s is not allowed", c.GetHeader("Origin"))
	}
	ticket, given := c.GetQuery("token")
	if !given {
		return a.authenticate(c)
	}
	board, err := queryBoard(c)
	if err != nil {
		return nil, err
	}
	from := "" // a WebSocket may come once
	if !isUpgrade(c) {
		from = address(c.Request)
	}
	who, err := a.Tickets.Redeem(c.Request.Context(), ticket, board, from)
	if err != nil || c.GetHeader("Authorization") == "" {
		return who, err
	}
	bearer, err := a.authenticate(c)
	if err != nil {
		return nil, err
	}
	if bearer.User != who.User {
		return nil, scoreboard.Errorf(scoreboard.CodeForbidden, "the ticket is another user's")
	}
	return who, nil
}

// ownOrigin reports whether the page that asks, if it is one, is on the list.
// Browsers send an Origin; any other page could use its visitor's network.
func (a *API) ownOrigin(c *gin.Context) bool {
	origin := c.GetHeader("Origin")
	return origin == "" || slices.Contains(a.Origins, origin)
}

func isUpgrade(c *gin.Context) bool { return strings.EqualFold(c.GetHeader("Upgrade"), "websocket") }

// turnAway answers with a refusal. A browser learns why a WebSocket was refused
// from a close code alone, so that is upgraded first, but for a foreign page.
func (a *API) turnAway(c *gin.Context, err error) {
	if c.FullPath() != livePath || !isUpgrade(c) || !a.ownOrigin(c) {
		a.fail(c, err)
		return
	}
	e := a.public(c, err)
	c.Status(statuses[scoreboard.Code(e.ErrorCode)]) // what is counted; the client sees 101 and the close code
	refusal := scoreboard.Error{Code: scoreboard.Code(e.ErrorCode), Message: e.Message, Field: e.Field}
	if err := a.Live.Refuse(c.Writer, c.Request, &refusal); err != nil {
		a.fail(c, err)
	}
}

// live is GET /v1/realtime/leaderboard: a WebSocket, or an event stream.
func (a *API) live(c *gin.Context, who *auth.Claims) error {
	board, err := queryBoard(c)
	if err != nil {
		return err
	}
	limit, err := queryInt(c, "limit", 0, 1, scoreboard.TopSize)
	if err != nil {
		return err
	}
	if limit != 0 && limit != shortStream && limit != scoreboard.TopSize { // 0: as the setting reads.top_n says
		return scoreboard.Invalid("limit", "limit must be %d or %d", shortStream, scoreboard.TopSize)
	}
	canSee := a.canSee(who)
	if _, ticket := c.GetQuery("token"); ticket {
		canSee = only(board, canSee)
	}
	last := c.GetHeader("Last-Event-ID")
	if last == "" {
		last = c.Query("last_event_id")
	}
	v := Viewer{
		User: who.User, Address: address(c.Request), Expires: who.Expires, Board: board, Limit: limit,
		Delta: c.Query("delta") == "1", Last: last, CanSee: canSee,
	}
	if isUpgrade(c) {
		c.Status(http.StatusSwitchingProtocols) // what is counted; the connection itself is no longer ours
	}
	return a.Live.Serve(c.Writer, c.Request, v)
}

// canSee says of any board whether who may watch it.
func (a *API) canSee(who *auth.Claims) func(context.Context, scoreboard.BoardID) error {
	return func(ctx context.Context, id scoreboard.BoardID) error {
		board, err := a.Catalog.Board(ctx, id)
		if err != nil {
			return err
		}
		return visible(board, who, false)
	}
}

// only keeps who came with a ticket to its board.
func only(board scoreboard.BoardID, canSee func(context.Context, scoreboard.BoardID) error) func(context.Context, scoreboard.BoardID) error {
	return func(ctx context.Context, id scoreboard.BoardID) error {
		if id != board {
			return scoreboard.Errorf(scoreboard.CodeForbidden, "the ticket is for another board")
		}
		return canSee(ctx, id)
	}
}
