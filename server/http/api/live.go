package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// tickets issues and redeems join tickets.
type tickets struct {
	store  Tickets
	access *boardAccess
	log    *slog.Logger
}

// ticket is GET /v1/realtime/token: a join ticket for browsers, which cannot send a
// bearer token with a WebSocket or an EventSource.
func (t *tickets) ticket(c *gin.Context, caller *auth.Claims) error {
	board, err := queryBoard(c)
	if err != nil {
		return err
	}
	if _, err := t.access.board(c.Request.Context(), board, caller); err != nil {
		return err
	}
	ticket, expires, err := t.store.Issue(c.Request.Context(), caller, board)
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	respond(c, http.StatusOK, wire.JoinTicket{Token: ticket, ExpiresAt: expires.UTC()})
	return nil
}

// liveStream is what a route opens: WebSockets, event streams, or both.
type liveStream struct {
	format     *realtime.Format // nil is the native one
	webSockets bool
	// redeem returns the claims that the parameter token stands for.
	redeem func(c *gin.Context, token string) (*auth.Claims, error)
}

func (t *tickets) nativeStream() *liveStream {
	return &liveStream{webSockets: true, redeem: func(c *gin.Context, ticket string) (*auth.Claims, error) {
		board, err := queryBoard(c)
		if err != nil {
			return nil, err
		}
		return t.redeemTicket(c, ticket, board)
	}}
}

// redeemTicket uses a ticket for a board. A WebSocket uses it once; an event stream may
// reconnect.
func (t *tickets) redeemTicket(c *gin.Context, ticket string, board scoreboard.BoardID) (*auth.Claims, error) {
	resumeFrom := ""
	if !isUpgrade(c) {
		resumeFrom = address(c.Request)
	}
	return t.store.Redeem(c.Request.Context(), ticket, board, resumeFrom)
}

// join authenticates a viewer by the token in the query or a bearer token. The
// origin is checked first, so that a foreign page cannot consume tickets.
func (h *callers) join(c *gin.Context, r route) (*auth.Claims, error) {
	if !h.origins.allowedOrigin(c) {
		return nil, scoreboard.Errorf(wire.CodeForbidden, "origin %.100s is not allowed", c.GetHeader("Origin"))
	}
	token := c.Query(tokenParameter)
	if token == "" {
		return h.verifyToken(c, r)
	}
	caller, err := r.stream.redeem(c, token)
	if err != nil {
		return nil, err
	}
	if err := h.tokens.Recheck(c.Request.Context(), caller); err != nil || c.GetHeader("Authorization") == "" {
		return caller, err
	}
	bearer, err := h.verifyToken(c, r)
	if err != nil {
		return nil, err
	}
	if bearer.User != caller.User {
		return nil, scoreboard.Errorf(wire.CodeForbidden, "the token in the query belongs to another user")
	}
	return caller, nil
}

func isUpgrade(c *gin.Context) bool { return strings.EqualFold(c.GetHeader("Upgrade"), "websocket") }

// reject answers with an error. A browser can only learn why a WebSocket was
// rejected from a close code, so the connection is upgraded first, except for pages
// of foreign origins.
func (a *API) reject(c *gin.Context, s *liveStream, err error) {
	if s == nil || !s.webSockets || !isUpgrade(c) || !a.origins.allowedOrigin(c) {
		a.failures.fail(c, err)
		return
	}
	e := a.failures.public(c, err)
	c.Status(statuses[wire.Code(e.ErrorCode)]) // for the metrics; the client sees 101 and the close code
	rejection := scoreboard.Error{Code: wire.Code(e.ErrorCode), Message: e.Message, Field: e.Field}
	if err := a.webSockets.Refuse(c.Writer, c.Request, s.format, &rejection); err != nil {
		a.failures.fail(c, err)
	}
}

// streams opens streams for viewers.
type streams struct {
	webSockets   WebSockets
	eventStreams Stream
	tickets      *tickets
	access       *boardAccess
}

// live is GET /v1/realtime/leaderboard: a WebSocket, or an event stream.
func (s *streams) live(c *gin.Context, caller *auth.Claims) error {
	board, err := queryBoard(c)
	if err != nil {
		return err
	}
	limit, err := queryInt(c, "limit", 0, 1, scoreboard.TopSize)
	if err != nil {
		return err
	}
	if limit != 0 && limit != shortStream && limit != scoreboard.TopSize { // 0: the setting reads.top_n
		return scoreboard.Invalid("limit", "limit must be %d or %d", shortStream, scoreboard.TopSize)
	}
	delta, err := queryFlag(c, "delta")
	if err != nil {
		return err
	}
	friends, err := queryFlag(c, "friends")
	if err != nil {
		return err
	}
	if friends && caller.User == "" {
		return scoreboard.Invalid("friends", "friends requires a user's token")
	}
	cohort, err := queryFlag(c, "cohort")
	if err != nil {
		return err
	}
	if cohort && caller.User == "" {
		return scoreboard.Invalid("cohort", "cohort requires a user's token")
	}
	check := s.access.boardCheck(caller)
	if c.Query(tokenParameter) != "" {
		check = onlyBoard(board, check)
	}
	v := realtime.Viewer{CanSee: check, Board: board, Limit: limit, Delta: delta, Friends: friends, Cohort: cohort}
	if ticket := c.Query(tokenParameter); ticket != "" && !isUpgrade(c) {
		v.Hold = s.tickets.holdTicket(strings.Clone(ticket))
	}
	upgrade := s.webSockets.Accepts(c.Request)
	if !upgrade && !strings.Contains(c.GetHeader("Accept"), "text/event-stream") {
		return scoreboard.Invalid("", "this endpoint requires a WebSocket upgrade or Accept: text/event-stream")
	}
	return s.follow(c, caller, upgrade, &v)
}

// follow opens a stream for a viewer, as a WebSocket or as events.
func (s *streams) follow(c *gin.Context, caller *auth.Claims, webSocket bool, v *realtime.Viewer) error {
	v.User, v.Address, v.Expires = caller.User, address(c.Request), caller.Expires
	last := c.GetHeader("Last-Event-ID")
	if last == "" {
		last = cmp.Or(c.Query("last_event_id"), c.Query("lastEventId"))
	}
	v.LastEpoch, v.LastVersion = parseEventID(last)
	if webSocket {
		c.Status(http.StatusSwitchingProtocols) // for the metrics; the connection is hijacked
		endTrace(c)                             // a span lasts no longer than the handshake
		return s.webSockets.Serve(c.Writer, c.Request, v)
	}
	endTrace(c)
	return s.eventStreams.Serve(c.Writer, c.Request, v)
}

// holdTimeout bounds a request that no client waits for.
const holdTimeout = 2 * time.Second

// holdTicket returns what keeps a ticket valid while an event stream is open.
func (t *tickets) holdTicket(ticket string) func(open bool) {
	return func(open bool) {
		ctx, cancel := context.WithTimeout(context.Background(), holdTimeout)
		defer cancel()
		if err := t.store.Hold(ctx, ticket, open); err != nil {
			t.log.Debug("ticket not held; its client must get another one to reconnect", "err", err)
		}
	}
}

// parseEventID returns the parts of <epoch>:<version>, the id of an event and of
// a state. Anything else is as no id: the client gets the current state.
func parseEventID(id string) (epoch, version int64) {
	before, after, _ := strings.Cut(id, ":")
	epoch, err := strconv.ParseInt(before, 10, 64)
	if err != nil {
		return 0, 0
	}
	if version, err = strconv.ParseInt(after, 10, 64); err != nil {
		return 0, 0
	}
	return epoch, version
}

// boardCheck returns why a viewer may not watch a board; nil if it may.
type boardCheck func(ctx context.Context, id scoreboard.BoardID) error

// boardCheck is the boardCheck of a caller.
func (a boardAccess) boardCheck(caller *auth.Claims) boardCheck {
	return func(ctx context.Context, id scoreboard.BoardID) error {
		_, err := a.board(ctx, id, caller)
		return err
	}
}

// onlyBoard restricts the holder of a ticket to its board.
func onlyBoard(board scoreboard.BoardID, check boardCheck) boardCheck {
	return func(ctx context.Context, id scoreboard.BoardID) error {
		if id != board {
			return scoreboard.Errorf(wire.CodeForbidden, "the ticket is for another board")
		}
		return check(ctx, id)
	}
}
