package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// event is GET /v1/events/{event_id}: what became of an event of the caller,
// or of user_id for servers. Somebody else's is not found.
func (a *API) event(c *gin.Context, who *auth.Claims) error {
	user := who.User
	if text, given := c.GetQuery("user_id"); given {
		named, err := scoreboard.ParseUserID(text)
		if err != nil {
			return err
		}
		if named != user && !who.Has(auth.ScopeUpdate) {
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
		// Between the two looks it may have been recorded, and its mark cleared.
		receipts, err = a.Events.Event(c.Request.Context(), user, event)
	}
	if err != nil {
		return err
	}
	a.answerReceipts(c, user, event, receipts)
	return nil
}

// eventStatus answers for an event that the ledger does not have, or cannot be
// asked for, and says whether it could.
func (a *API) eventStatus(c *gin.Context, user scoreboard.UserID, event scoreboard.EventID, ledger error) (answered bool, err error) {
	pending, rejected, err := a.Acceptor.Status(c.Request.Context(), user, event)
	status := protocol.EventStatus{ProcessedEventID: event.Text}
	switch {
	case pending:
		status.Status = protocol.StatusPending
	case rejected != nil:
		status.Status, status.ErrorCode, status.Message = protocol.StatusRejected, string(rejected.Code), rejected.Message
	case scoreboard.CodeOf(ledger) != scoreboard.CodeNotFound:
		return false, ledger
	default:
		return false, err
	}
	respond(c, http.StatusOK, status)
	return true, nil
}

// rank fills in the ranks of receipts that were looked up.
func (a *API) rank(c *gin.Context, receipts []scoreboard.Receipt) {
	pointers := make([]*scoreboard.Receipt, len(receipts))
	for i := range receipts {
		pointers[i] = &receipts[i]
	}
	a.Ranker.Rank(c.Request.Context(), pointers)
}
