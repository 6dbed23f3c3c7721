package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// Knobs and flags need the scope score:admin.
type (
	// Knob is one knob as it is in force.
	Knob = protocol.Knob
	// KnobRequest turns a knob, or back to what was deployed.
	KnobRequest = protocol.KnobRequest
	// KnobsRequest turns several, and KnobTurn is one of them.
	KnobsRequest = protocol.KnobsRequest
	KnobTurn     = protocol.KnobTurn
	// Flag is an event that looks wrong.
	Flag = protocol.Flag
	// Flags is a page of them.
	Flags = protocol.Flags
)

// Knobs lists all knobs as they are in force on the node that answers.
func (c *Client) Knobs(ctx context.Context) ([]Knob, error) {
	var k protocol.Knobs
	err := c.do(ctx, call{op: "list the knobs", method: http.MethodGet, path: "/v1/admin/knobs"}, &k)
	return k.Knobs, err
}

// SetKnob turns a knob on all nodes, within two seconds.
func (c *Client) SetKnob(ctx context.Context, name string, r KnobRequest) (Knob, error) {
	var k Knob
	err := c.do(ctx, call{
		op: "turn a knob", method: http.MethodPut, path: "/v1/admin/knobs/" + url.PathEscape(name), sign: true,
		body: func(time.Time) any { return r },
	}, &k)
	return k, err
}

// SetKnobs turns knobs that belong together, all or none of them.
func (c *Client) SetKnobs(ctx context.Context, r KnobsRequest) ([]Knob, error) {
	var k protocol.Knobs
	op := "turn knobs"
	if len(r.Knobs) == 1 {
		op = "turn a knob"
	}
	err := c.do(ctx, call{
		op: op, method: http.MethodPut, path: "/v1/admin/knobs", sign: true,
		body: func(time.Time) any { return r },
	}, &k)
	return k.Knobs, err
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
