package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Knobs are what operators turn.
type Knobs interface {
	Knobs(ctx context.Context) ([]protocol.Knob, error)
	// SetKnob turns a knob, nil back to what was deployed, and returns it. What
	// cannot be is an invalid_request.
	SetKnob(ctx context.Context, name string, value *string, why *scoreboard.AuditEntry) (*protocol.Knob, error)
}

// listKnobs is GET /v1/admin/knobs.
func (a *API) listKnobs(c *gin.Context, _ *auth.Claims) error {
	knobs, err := a.Knobs.Knobs(c.Request.Context())
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, protocol.Knobs{Knobs: knobs})
	return nil
}

// setKnob is PUT /v1/admin/knobs/{name}.
func (a *API) setKnob(c *gin.Context, who *auth.Claims) error {
	var r protocol.KnobRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	if r.Reset == (r.Value != nil) {
		return scoreboard.Invalid("value", "give either value or reset")
	}
	if len(r.Reason) > scoreboard.MaxReason {
		return scoreboard.CheckReason(r.Reason)
	}
	name := c.Param("name")
	why := entry(c, who, "knob:"+cut(name, maxAgent), r.Reason)
	why.Detail = detail(r)
	k, err := a.Knobs.SetKnob(c.Request.Context(), name, r.Value, why)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, k)
	return nil
}
