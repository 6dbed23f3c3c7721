package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// The types of settings. Reading them needs the scope score:operate, changing
// them score:admin.
type (
	// Setting is a setting and its effective value.
	Setting = wire.Setting
	// SettingRequest changes a setting, or resets it to the deployed value.
	SettingRequest = wire.SettingRequest
	// SettingsRequest changes several settings, together or not at all.
	SettingsRequest = wire.SettingsRequest
	// SettingChange is one change of a SettingsRequest.
	SettingChange = wire.SettingChange
)

// Settings lists all settings with their effective values on the node that answers.
func (c *Client) Settings(ctx context.Context) ([]Setting, error) {
	var k wire.Settings
	err := c.do(ctx, call{op: "list the settings", method: http.MethodGet, path: "/v1/admin/settings"}, &k)
	return k.Settings, err
}

// ChangeSetting changes a setting on all nodes, within two seconds.
func (c *Client) ChangeSetting(ctx context.Context, name string, r SettingRequest) (Setting, error) {
	var k Setting
	err := c.do(ctx, call{
		op: "change a setting", method: http.MethodPut, path: "/v1/admin/settings/" + url.PathEscape(name), sign: true,
		body: func(time.Time) any { return r },
	}, &k)
	return k, err
}

// ChangeSettings changes several settings, all or none.
func (c *Client) ChangeSettings(ctx context.Context, r SettingsRequest) ([]Setting, error) {
	var k wire.Settings
	op := "change settings"
	if len(r.Settings) == 1 {
		op = "change a setting"
	}
	err := c.do(ctx, call{
		op: op, method: http.MethodPut, path: "/v1/admin/settings", sign: true,
		body: func(time.Time) any { return r },
	}, &k)
	return k.Settings, err
}
