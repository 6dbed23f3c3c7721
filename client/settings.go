package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// Settings and flags need the scope score:admin.
type (
	// Setting is one setting as it is in force.
	Setting = protocol.Setting
	// SettingRequest turns a setting, or back to what was deployed.
	SettingRequest = protocol.SettingRequest
	// SettingsRequest turns several, and SettingChange is one of them.
	SettingsRequest = protocol.SettingsRequest
	SettingChange   = protocol.SettingChange
	// Flag is an event that looks wrong.
	Flag = protocol.Flag
	// Flags is a page of them.
	Flags = protocol.Flags
)

// Settings lists all settings as they are in force on the node that answers.
func (c *Client) Settings(ctx context.Context) ([]Setting, error) {
	var k protocol.Settings
	err := c.do(ctx, call{op: "list the knobs", method: http.MethodGet, path: "/v1/admin/settings"}, &k)
	return k.Settings, err
}

// ChangeSetting turns a setting on all nodes, within two seconds.
func (c *Client) ChangeSetting(ctx context.Context, name string, r SettingRequest) (Setting, error) {
	var k Setting
	err := c.do(ctx, call{
		op: "turn a knob", method: http.MethodPut, path: "/v1/admin/settings/" + url.PathEscape(name), sign: true,
		body: func(time.Time) any { return r },
	}, &k)
	return k, err
}

// ChangeSettings turns settings that belong together, all or none of them.
func (c *Client) ChangeSettings(ctx context.Context, r SettingsRequest) ([]Setting, error) {
	var k protocol.Settings
	op := "turn knobs"
	if len(r.Settings) == 1 {
		op = "turn a knob"
	}
	err := c.do(ctx, call{
		op: op, method: http.MethodPut, path: "/v1/admin/settings", sign: true,
		body: func(time.Time) any { return r },
	}, &k)
	return k.Settings, err
}

// FlagQuery picks flags; the open ones where no state is asked for.
type FlagQuery struct {
	State, User string
	After       int64
}

// Flags lists events that look wrong, the oldest first.
func (c *Client) Flags(ctx context.Context, q FlagQuery) (Flags, error) {
	v := url.Values{}
	setQuery(v, "state", q.State)
	setQuery(v, "user_id", q.User)
	if q.After > 0 {
		v.Set("after", strconv.FormatInt(q.After, 10))
	}
	var f Flags
	err := c.do(ctx, call{op: "list the flags", method: http.MethodGet, path: "/v1/admin/flags", query: v}, &f)
	return f, err
}

// Flag returns one flag.
func (c *Client) Flag(ctx context.Context, id int64) (Flag, error) {
	var f Flag
	err := c.do(ctx, call{op: "read a flag", method: http.MethodGet, path: "/v1/admin/flags/" + strconv.FormatInt(id, 10)}, &f)
	return f, err
}

// DismissFlag says that a flag is nothing.
func (c *Client) DismissFlag(ctx context.Context, id int64, reason string) (Flag, error) {
	return c.decideFlag(ctx, "dismiss", id, reason)
}

// ConfirmFlag says that a flag is right. What follows from it is for Ban,
// Freeze or Reverse.
func (c *Client) ConfirmFlag(ctx context.Context, id int64, reason string) (Flag, error) {
	return c.decideFlag(ctx, "confirm", id, reason)
}

func (c *Client) decideFlag(ctx context.Context, verb string, id int64, reason string) (Flag, error) {
	var f Flag
	err := c.do(ctx, call{
		op: verb + " a flag", method: http.MethodPost, path: "/v1/admin/flags/" + strconv.FormatInt(id, 10) + "/" + verb, sign: true,
		body: func(time.Time) any { return protocol.ReasonRequest{Reason: reason} },
	}, &f)
	return f, err
}
