package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxSettingName is how many bytes of a setting's name the audit trail keeps.
const maxSettingName = 200

// SettingsService lists and changes settings.
type SettingsService interface {
	Settings(ctx context.Context) ([]wire.Setting, error)
	// ChangeSettings changes settings, all or none, and returns them; an
	// invalid_request for a value that is not allowed, or if a token would no longer be
	// an operator's afterwards; "" for any.
	ChangeSettings(ctx context.Context, changes []scoreboard.SettingChange, token string) ([]wire.Setting, error)
}

// settings shows and changes the settings.
type settings struct {
	service SettingsService
}

// listSettings is GET /v1/admin/settings.
func (h *settings) listSettings(c *gin.Context, _ *auth.Claims) error {
	settings, err := h.service.Settings(c.Request.Context())
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, wire.Settings{Settings: settings})
	return nil
}

// changeSetting is PUT /v1/admin/settings/{name}.
func (h *settings) changeSetting(c *gin.Context, caller *auth.Claims) error {
	var r wire.SettingRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	change, err := parseChange(c, caller, c.Param("name"), r)
	if err != nil {
		return err
	}
	settings, err := h.service.ChangeSettings(c.Request.Context(), []scoreboard.SettingChange{change},
		keptToken(c, r.Force))
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, settings[0])
	return nil
}

// changeSettings is PUT /v1/admin/settings: some settings are only valid together,
// such as the key set of another provider and its issuer.
func (h *settings) changeSettings(c *gin.Context, caller *auth.Claims) error {
	var r wire.SettingsRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	if len(r.Settings) == 0 || len(r.Settings) > wire.MaxSettings {
		return scoreboard.Invalid("settings", "settings must contain 1 to %d changes", wire.MaxSettings)
	}
	changes := make([]scoreboard.SettingChange, len(r.Settings))
	for i, k := range r.Settings {
		if slices.ContainsFunc(changes[:i], func(t scoreboard.SettingChange) bool { return t.Name == k.Name }) {
			return scoreboard.Invalid("settings", "duplicate setting %.100q", k.Name)
		}
		var err error
		one := wire.SettingRequest{Value: k.Value, Reset: k.Reset, Reason: r.Reason, Force: r.Force}
		if changes[i], err = parseChange(c, caller, k.Name, one); err != nil {
			return err
		}
	}
	settings, err := h.service.ChangeSettings(c.Request.Context(), changes, keptToken(c, r.Force))
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, wire.Settings{Settings: settings})
	return nil
}

// keptToken returns the token that a change of settings must not invalidate: the
// caller's, so that it can be undone, or "" by force.
func keptToken(c *gin.Context, force bool) string {
	if force {
		return ""
	}
	return bearerToken(c)
}

func parseChange(
	c *gin.Context, caller *auth.Claims, name string, r wire.SettingRequest,
) (change scoreboard.SettingChange, err error) {
	if r.Reset == (r.Value != nil) {
		return change, scoreboard.Invalid("value", "specify either value or reset")
	}
	if r.Reason != "" {
		if err := scoreboard.CheckReason(r.Reason); err != nil {
			return change, err
		}
	}
	why := newAuditEntry(c, caller, "setting:"+truncate(name, maxSettingName), r.Reason)
	why.Detail = auditDetail(r)
	return scoreboard.SettingChange{Name: name, Value: r.Value, Why: why}, nil
}
