package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// event is GET /v1/events/{event_id}: the receipt of an event of the caller,
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
	if err != nil {
		return err
	}
	pointers := make([]*scoreboard.Receipt, len(receipts))
	out := make([]protocol.Receipt, len(receipts))
	for i := range receipts {
		pointers[i] = &receipts[i]
	}
	a.Ranker.Rank(c.Request.Context(), pointers)
	for i := range receipts {
		out[i] = receiptJSON(&receipts[i])
	}
	if len(out) == 1 {
		respond(c, http.StatusOK, out[0])
		return nil
	}
	respond(c, http.StatusOK, protocol.Receipts{UserID: string(user), ProcessedEventID: event.Text, Receipts: out})
	return nil
}
