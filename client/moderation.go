package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// What moderation works with. All of it needs the scope score:admin and a
// reason, which the audit trail keeps.
type (
	// UserState is what a user is now.
	UserState = protocol.UserState
	// User is what an operator looks at before deciding about a user.
	User = protocol.User
	// VoidRequest picks what one key or address sent.
	VoidRequest = protocol.VoidRequest
	// VoidPreview is what a void would reverse.
	VoidPreview = protocol.VoidPreview
	// Void is a job that reverses it.
	Void = protocol.Void
)

// Ban keeps a user from writing and hides the user from every board.
func (c *Client) Ban(ctx context.Context, user, reason string) (UserState, error) {
	return c.setStatus(ctx, "ban", user, reason)
}

// Unban ends a ban: the scores are where they were.
func (c *Client) Unban(ctx context.Context, user, reason string) (UserState, error) {
	return c.setStatus(ctx, "unban", user, reason)
}

// Freeze keeps a user from writing; the user stays to be seen.
func (c *Client) Freeze(ctx context.Context, user, reason string) (UserState, error) {
	return c.setStatus(ctx, "freeze", user, reason)
}

// Unfreeze lets a frozen user write again.
func (c *Client) Unfreeze(ctx context.Context, user, reason string) (UserState, error) {
	return c.setStatus(ctx, "unfreeze", user, reason)
}

// User shows what a user is, since when and why, with the scores.
func (c *Client) User(ctx context.Context, user string) (User, error) {
	var u User
	err := c.do(ctx, call{op: "look at user " + user, method: http.MethodGet, path: "/v1/admin/users/" + url.PathEscape(user)}, &u)
	return u, err
}

func (c *Client) setStatus(ctx context.Context, verb, user, reason string) (UserState, error) {
	var s UserState
	err := c.do(ctx, call{
		op: verb + " " + user, method: http.MethodPost, path: "/v1/admin/users/" + url.PathEscape(user) + "/" + verb, sign: true,
		body: func(time.Time) any { return protocol.ReasonRequest{Reason: reason} },
	}, &s)
	return s, err
}

// Adjustment is a signed change of a score by an operator.
type Adjustment struct {
	User    string
	Board   string // global when empty
	Delta   int64
	EventID string // Adjust makes one when it is empty
	Reason  string
}

// Adjust changes a score by an event of its own. It is tried again with the
// same event id, so it counts once at most.
func (c *Client) Adjust(ctx context.Context, a Adjustment) (Receipt, error) {
	if a.EventID == "" {
		a.EventID = NewEventID()
	}
	var receipt Receipt
	err := c.do(ctx, call{
		op: "adjust " + a.User, method: http.MethodPost, path: "/v1/admin/users/" + url.PathEscape(a.User) + "/adjust", sign: true, eventID: a.EventID,
		body: func(time.Time) any {
			return protocol.AdjustRequest{Board: a.Board, Delta: a.Delta, EventID: a.EventID, Reason: a.Reason}
		},
	}, &receipt)
	return receipt, err
}

// Reverse takes back an event of a user on all its boards. Twice is a replay.
func (c *Client) Reverse(ctx context.Context, user, event, reason string) ([]Receipt, error) {
	var answer json.RawMessage
	err := c.do(ctx, call{
		op: "reverse event " + event, method: http.MethodPost, path: "/v1/admin/events/" + url.PathEscape(event) + "/reverse", sign: true,
		eventID: event, body: func(time.Time) any { return protocol.ReverseRequest{UserID: user, Reason: reason} },
	}, &answer)
	if err != nil {
		return nil, err
	}
	var one Receipt
	var several protocol.Receipts
	if err := errors.Join(json.Unmarshal(answer, &one), json.Unmarshal(answer, &several)); err != nil {
		return nil, &Error{Op: "reverse event " + event, Err: fmt.Errorf("decode the answer: %w", err)}
	}
	if several.Receipts != nil {
		return several.Receipts, nil
	}
	return []Receipt{one}, nil
}

// PreviewVoid counts what a void would reverse.
func (c *Client) PreviewVoid(ctx context.Context, r VoidRequest) (VoidPreview, error) {
	r.DryRun = true
	var p VoidPreview
	err := c.do(ctx, call{
		op: "preview a void", method: http.MethodPost, path: "/v1/admin/voids", sign: true, body: func(time.Time) any { return r },
	}, &p)
	return p, err
}

// CreateVoid begins a void; a not_found where there is nothing to take back. It is
// tried once: to a second try the first may have left nothing.
func (c *Client) CreateVoid(ctx context.Context, r VoidRequest) (Void, error) {
	var v Void
	err := c.do(ctx, call{
		op: "begin a void", method: http.MethodPost, path: "/v1/admin/voids", sign: true, once: true, body: func(time.Time) any { return r },
	}, &v)
	return v, err
}

// Void says how far a void is.
func (c *Client) Void(ctx context.Context, id int64) (Void, error) {
	var v Void
	err := c.do(ctx, call{op: "read a void", method: http.MethodGet, path: "/v1/admin/voids/" + strconv.FormatInt(id, 10)}, &v)
	return v, err
}

// Voids lists the voids, the newest first.
func (c *Client) Voids(ctx context.Context) ([]Void, error) {
	var v protocol.Voids
	err := c.do(ctx, call{op: "list the voids", method: http.MethodGet, path: "/v1/admin/voids"}, &v)
	return v.Voids, err
}

// UndoVoid has everything count again that a void has reversed.
func (c *Client) UndoVoid(ctx context.Context, id int64, reason string) (Void, error) {
	var v Void
	err := c.do(ctx, call{
		op: "undo a void", method: http.MethodPost, path: "/v1/admin/voids/" + strconv.FormatInt(id, 10) + "/undo", sign: true,
		body: func(time.Time) any { return protocol.ReasonRequest{Reason: reason} },
	}, &v)
	return v, err
}
