package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// events answers what became of events.
type events struct {
	events   Events
	acceptor Acceptor // nil: none is pending
	ranks    *ranks
}

// event is GET /v1/events/{event_id}: the state of an event of the caller, or of
// user_id for servers. Other users' events are not found.
func (h *events) event(c *gin.Context, caller *auth.Claims) error {
	user := caller.User
	if text := c.Query("user_id"); text != "" {
		named, err := caller.UserID(text)
		if err != nil {
			return err
		}
		if named != user && !caller.Has(auth.ScopeUpdate) {
			return scoreboard.Errorf(wire.CodeForbidden, "the token is not for user %s", named)
		}
		user = named
	}
	event, err := scoreboard.ParseEventID(user, c.Param("event_id"))
	if err != nil {
		return err
	}
	c.Set(keyEventID, event.Text)
	receipts, err := h.events.Event(c.Request.Context(), user, event)
	if err != nil && h.acceptor != nil {
		pending, rejected, statusErr := h.acceptor.Status(c.Request.Context(), user, event)
		switch {
		case pending:
			respond(c, http.StatusOK,
				wire.EventStatus{ProcessedEventID: event.Text, Status: wire.StatusPending})
			return nil
		case wire.CodeOf(err) != wire.CodeNotFound:
			return err
		case statusErr != nil && wire.CodeOf(statusErr) != wire.CodeNotFound:
			return statusErr
		}
		// Between the two lookups it may have been recorded and its marker cleared. A
		// receipt outlives an earlier rejection.
		receipts, err = h.events.Event(c.Request.Context(), user, event)
		if wire.CodeOf(err) == wire.CodeNotFound && rejected != nil {
			reason := protocol.NewError(rejected)
			respond(c, http.StatusOK, wire.EventStatus{
				ProcessedEventID: event.Text, Status: wire.StatusRejected,
				ErrorCode: reason.ErrorCode, Message: reason.Message,
			})
			return nil
		}
	}
	if err != nil {
		return err
	}
	h.ranks.respondRanked(c, user, event, receipts)
	return nil
}
