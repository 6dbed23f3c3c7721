package api

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// wantsAsync says whether the caller asked for a 202 and can have it.
func (a *API) wantsAsync(c *gin.Context, in *scoreboard.Increment) bool {
	for _, prefer := range c.Request.Header.Values("Prefer") {
		for p := range strings.SplitSeq(prefer, ",") {
			if strings.EqualFold(strings.TrimSpace(p), "respond-async") {
				return a.mayAsync(c, in)
			}
		}
	}
	return false
}

// mayAsync says whether an increment may be recorded later: not on a latest
// board, where what was recorded last would win over what happened last, nor one
// that only a repeat is answered for: nobody is told to wait for a refusal.
func (a *API) mayAsync(c *gin.Context, in *scoreboard.Increment) bool {
	if a.Acceptor == nil || !a.now().Async || in.Objection != nil {
		return false
	}
	for _, id := range in.Boards {
		if board, err := a.Catalog.Board(c.Request.Context(), id); err != nil || board.Mode == scoreboard.ModeLatest {
			return false
		}
	}
	return true
}

// accept answers 202 with where to ask, or 200 for what is done already.
func (a *API) accept(c *gin.Context, r *protocol.IncrementRequest, in *scoreboard.Increment) error {
	receipts, err := a.Acceptor.Accept(c.Request.Context(), *in)
	if err != nil {
		return err
	}
	if receipts != nil {
		a.rank(c, receipts)
		answer(c, r, receipts)
		return nil
	}
	c.Writer.Header().Set("Location", "/v1/events/"+in.Event.Text+"?user_id="+url.QueryEscape(string(in.User)))
	respond(c, http.StatusAccepted, protocol.EventStatus{ProcessedEventID: in.Event.Text, Status: protocol.StatusPending})
	return nil
}
