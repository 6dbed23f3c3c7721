package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// event is GET /v1/events/{event_id}: the state of an event of the caller, or of
// user_id for servers. Other users' events are not found.
func (a *API) event(c *gin.Context, caller *auth.Claims) error {
	user := caller.User
	if text, given := c.GetQuery("user_id"); given {
		named, err := scoreboard.ParseUserID(text)
		if err != nil {
			return err
		}
		if named != user && !caller.Has(auth.ScopeUpdate) {
			return scoreboard.Errorf(scoreboard.CodeForbidden, "the token is not for user %s", named)
		}
		user = named
	}
	event, err := scoreboard.ParseEventID(user, c.Param("event_id"))
	if err != nil {
		return err
	}
	c.Set(keyEventID, event.Text)
	receipts, err := a.Events.Event(c.Request.Context(), user, event)
	if err != nil && a.Acceptor != nil {
		answered, statusErr := a.eventStatus(c, user, event, err)
		if answered || scoreboard.CodeOf(statusErr) != scoreboard.CodeNotFound {
			return statusErr
		}
		// Between the two lookups it may have been recorded and its mark cleared.
		receipts, err = a.Events.Event(c.Request.Context(), user, event)
	}
	if err != nil {
		return err
	}
	a.respondRanked(c, user, event, receipts)
	return nil
}

// eventStatus answers for an event whose lookup in the ledger failed with
// ledgerErr, and reports whether it did.
func (a *API) eventStatus(
	c *gin.Context, user scoreboard.UserID, event scoreboard.EventID, ledgerErr error,
) (answered bool, err error) {
	pending, rejected, err := a.Acceptor.Status(c.Request.Context(), user, event)
	status := protocol.EventStatus{ProcessedEventID: event.Text}
	switch {
	case pending:
		status.Status = protocol.StatusPending
	case rejected != nil:
		status.Status = protocol.StatusRejected
		status.ErrorCode, status.Message = string(rejected.Code), rejected.Message
	case scoreboard.CodeOf(ledgerErr) != scoreboard.CodeNotFound:
		return false, ledgerErr
	default:
		return false, err
	}
	respond(c, http.StatusOK, status)
	return true, nil
}
