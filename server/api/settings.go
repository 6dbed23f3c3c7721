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

// settingsAlias answers exactly as settingsPath does. It is not in the OpenAPI
// document.
const (
	settingsPath  = "/v1/admin/settings"
	settingsAlias = "/v1/admin/knobs"
)

// SettingsService lists and changes settings.
type SettingsService interface {
	Settings(ctx context.Context) ([]protocol.Setting, error)
	// ChangeSettings turns settings, all or none, and returns them. What cannot be is an
	// invalid_request.
	ChangeSettings(ctx context.Context, turns []scoreboard.SettingChange) ([]protocol.Setting, error)
}

// listSettings is GET /v1/admin/settings.
func (a *API) listSettings(c *gin.Context, _ *auth.Claims) error {
	knobs, err := a.Settings.Settings(c.Request.Context())
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, protocol.Settings{Settings: knobs})
	return nil
}

// changeSetting is PUT /v1/admin/settings/{name}.
func (a *API) changeSetting(c *gin.Context, who *auth.Claims) error {
	var r protocol.SettingRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	turn, err := turnOf(c, who, c.Param("name"), r)
	if err != nil {
		return err
	}
	knobs, err := a.Settings.ChangeSettings(c.Request.Context(), []scoreboard.SettingChange{turn})
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, knobs[0])
	return nil
}

// changeSettings is PUT /v1/admin/settings: some fit only together, such as the key set
// of another provider and its issuer.
func (a *API) changeSettings(c *gin.Context, who *auth.Claims) error {
	var r protocol.SettingsRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	if len(r.Settings) == 0 || len(r.Settings) > protocol.MaxSettings {
		return scoreboard.Invalid("settings", "settings must hold 1 to %d changes", protocol.MaxSettings)
	}
	turns := make([]scoreboard.SettingChange, len(r.Settings))
	for i, k := range r.Settings {
		if slices.ContainsFunc(turns[:i], func(t scoreboard.SettingChange) bool { return t.Name == k.Name }) {
			return scoreboard.Invalid("settings", "duplicate setting %.100q", k.Name)
		}
		var err error
		if turns[i], err = turnOf(c, who, k.Name, protocol.SettingRequest{Value: k.Value, Reset: k.Reset, Reason: r.Reason}); err != nil {
			return err
		}
	}
	knobs, err := a.Settings.ChangeSettings(c.Request.Context(), turns)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, protocol.Settings{Settings: knobs})
	return nil
}

func turnOf(c *gin.Context, who *auth.Claims, name string, r protocol.SettingRequest) (t scoreboard.SettingChange, err error) {
	if r.Reset == (r.Value != nil) {
		return t, scoreboard.Invalid("value", "give either value or reset")
	}
	if len(r.Reason) > scoreboard.MaxReason {
		return t, scoreboard.CheckReason(r.Reason)
	}
	t = scoreboard.SettingChange{Name: name, Value: r.Value, Why: entry(c, who, "setting:"+cut(name, maxAgent), r.Reason)}
	t.Why.Detail = detail(r)
	return t, nil
}
