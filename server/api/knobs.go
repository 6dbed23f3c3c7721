package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Knobs are what operators turn.
type Knobs interface {
	Knobs(ctx context.Context) ([]protocol.Knob, error)
	// SetKnobs turns knobs, all or none, and returns them. What cannot be is an
	// invalid_request.
	SetKnobs(ctx context.Context, turns []scoreboard.KnobTurn) ([]protocol.Knob, error)
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
	turn, err := turnOf(c, who, c.Param("name"), r)
	if err != nil {
		return err
	}
	knobs, err := a.Knobs.SetKnobs(c.Request.Context(), []scoreboard.KnobTurn{turn})
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, knobs[0])
	return nil
}

// setKnobs is PUT /v1/admin/knobs: some fit only together, such as the key set
// of another provider and its issuer.
func (a *API) setKnobs(c *gin.Context, who *auth.Claims) error {
	var r protocol.KnobsRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	if len(r.Knobs) == 0 || len(r.Knobs) > protocol.MaxKnobs {
		return scoreboard.Invalid("knobs", "give 1 to %d knobs", protocol.MaxKnobs)
	}
	turns := make([]scoreboard.KnobTurn, len(r.Knobs))
	for i, k := range r.Knobs {
		if slices.ContainsFunc(turns[:i], func(t scoreboard.KnobTurn) bool { return t.Name == k.Name }) {
			return scoreboard.Invalid("knobs", "knob %.100s is named twice", k.Name)
		}
		var err error
		if turns[i], err = turnOf(c, who, k.Name, protocol.KnobRequest{Value: k.Value, Reset: k.Reset, Reason: r.Reason}); err != nil {
			return err
		}
	}
	knobs, err := a.Knobs.SetKnobs(c.Request.Context(), turns)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, protocol.Knobs{Knobs: knobs})
	return nil
}

func turnOf(c *gin.Context, who *auth.Claims, name string, r protocol.KnobRequest) (t scoreboard.KnobTurn, err error) {
	if r.Reset == (r.Value != nil) {
		return t, scoreboard.Invalid("value", "give either value or reset")
	}
	if len(r.Reason) > scoreboard.MaxReason {
		return t, scoreboard.CheckReason(r.Reason)
	}
	t = scoreboard.KnobTurn{Name: name, Value: r.Value, Why: entry(c, who, "knob:"+cut(name, maxAgent), r.Reason)}
	t.Why.Detail = detail(r)
	return t, nil
}
