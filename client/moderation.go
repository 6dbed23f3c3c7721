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

	"github.com/scoreboard/scoreboard/client/wire"
)

// The types of moderation. Its calls need the scope score:operate, but for adjustments,
// reversals, voids, exports and erasures, which need score:admin. Its changes need a reason
// for the audit trail.
type (
	// UserState is a user's status.
	UserState = wire.UserState
	// User is a user's status and its reason, with scores and flags.
	User = wire.User
	// ReverseRequest says whose event is reversed, and why.
	ReverseRequest = wire.ReverseRequest
	// VoidRequest selects the events of one key or address.
	VoidRequest = wire.VoidRequest
	// VoidPreview is what a void would reverse.
	VoidPreview = wire.VoidPreview
	// VoidedRewards are the rewards that a void takes back.
	VoidedRewards = wire.VoidedRewards
	// Void is a job that reverses those events.
	Void = wire.Void
	// VoidFailure is an event that it could not reverse.
	VoidFailure = wire.VoidFailure
	// Flag is an event that a rule found suspicious.
	Flag = wire.Flag
	// Flags is a page of flags.
	Flags = wire.Flags
)

// Reversal is the result of a reversal: a receipt for each board, and the boards that have
// ended and keep the event.
type Reversal struct {
	Receipts     []Receipt `json:"receipts"`
	ClosedBoards []string  `json:"closed_boards,omitempty"`
}

// Ban rejects a user's writes and hides the user from all boards.
func (c *Client) Ban(ctx context.Context, user, reason string) (UserState, error) {
	return c.setStatus(ctx, "ban", user, reason)
}

// Unban ends a ban; scores and ranks come back.
func (c *Client) Unban(ctx context.Context, user, reason string) (UserState, error) {
	return c.setStatus(ctx, "unban", user, reason)
}

// Freeze rejects a user's writes; the user stays visible.
func (c *Client) Freeze(ctx context.Context, user, reason string) (UserState, error) {
	return c.setStatus(ctx, "freeze", user, reason)
}

// Unfreeze accepts a frozen user's writes again.
func (c *Client) Unfreeze(ctx context.Context, user, reason string) (UserState, error) {
	return c.setStatus(ctx, "unfreeze", user, reason)
}

// User reads a user's status and its reason, with scores and flags.
func (c *Client) User(ctx context.Context, user string) (User, error) {
	var u User
	err := c.do(ctx,
		call{op: "read user " + user, method: http.MethodGet, path: "/v1/admin/users/" + url.PathEscape(user)}, &u)
	return u, err
}

func (c *Client) setStatus(ctx context.Context, verb, user, reason string) (UserState, error) {
	var s UserState
	err := c.do(ctx, call{
		op: verb + " " + user, method: http.MethodPost, path: "/v1/admin/users/" + url.PathEscape(user) + "/" + verb,
		sign: true,
		body: func(time.Time) any { return wire.ReasonRequest{Reason: reason} },
	}, &s)
	return s, err
}

// Adjustment is a signed change of a score, and of its subscore on a board with subscores, by an
// operator. One of the two may be 0.
type Adjustment struct {
	User     string
	Board    string // global when empty
	Delta    int64
	Subscore *int64
	EventID  string // Adjust generates one if it is empty
	Reason   string
}

// Adjust changes a score by recording an adjustment. It retries with the same event
// id, so the adjustment counts at most once.
func (c *Client) Adjust(ctx context.Context, a Adjustment) (Receipt, error) {
	if a.EventID == "" {
		a.EventID = NewEventID()
	}
	var receipt Receipt
	err := c.do(ctx, call{
		op: "adjust " + a.User, method: http.MethodPost, path: "/v1/admin/users/" + url.PathEscape(a.User) + "/adjust",
		sign: true, eventID: a.EventID,
		body: func(time.Time) any {
			return wire.AdjustRequest{
				Board: a.Board, Delta: a.Delta, Subscore: a.Subscore, EventID: a.EventID, Reason: a.Reason,
			}
		},
	}, &receipt)
	return receipt, err
}

// Reverse reverses an event of a user on all its boards, or, with OpenBoards, on those that
// have not ended. Reversing it again returns the first receipts as replayed.
func (c *Client) Reverse(ctx context.Context, event string, r ReverseRequest) (Reversal, error) {
	var response json.RawMessage
	err := c.do(ctx, call{
		op: "reverse event " + event, method: http.MethodPost,
		path: "/v1/admin/events/" + url.PathEscape(event) + "/reverse", sign: true,
		eventID: event, body: func(time.Time) any { return r },
	}, &response)
	if err != nil {
		return Reversal{}, err
	}
	var one Receipt
	var several wire.Receipts
	if err := errors.Join(json.Unmarshal(response, &one), json.Unmarshal(response, &several)); err != nil {
		return Reversal{}, &Error{Op: "reverse event " + event, Err: fmt.Errorf("decode the response: %w", err)}
	}
	if several.Receipts != nil {
		return Reversal{several.Receipts, several.ClosedBoards}, nil
	}
	return Reversal{Receipts: []Receipt{one}}, nil
}

// PreviewVoid counts what a void would reverse.
func (c *Client) PreviewVoid(ctx context.Context, r VoidRequest) (VoidPreview, error) {
	r.DryRun = true
	var p VoidPreview
	err := c.do(ctx, call{
		op: "preview a void", method: http.MethodPost, path: "/v1/admin/voids", sign: true,
		body: func(time.Time) any { return r },
	}, &p)
	return p, err
}

// CreateVoid starts a void; the error is not_found if no event matches. It never
// retries: after a first try that succeeded, no event would match.
func (c *Client) CreateVoid(ctx context.Context, r VoidRequest) (Void, error) {
	var v Void
	err := c.do(ctx, call{
		op: "start a void", method: http.MethodPost, path: "/v1/admin/voids", sign: true, once: true,
		body: func(time.Time) any { return r },
	}, &v)
	return v, err
}

// Void reads the progress of a void.
func (c *Client) Void(ctx context.Context, id int64) (Void, error) {
	var v Void
	err := c.do(ctx,
		call{op: "read a void", method: http.MethodGet, path: "/v1/admin/voids/" + strconv.FormatInt(id, 10)}, &v)
	return v, err
}

// Voids lists voids, newest first.
func (c *Client) Voids(ctx context.Context) ([]Void, error) {
	var v wire.Voids
	err := c.do(ctx, call{op: "list the voids", method: http.MethodGet, path: "/v1/admin/voids"}, &v)
	return v.Voids, err
}

// UndoVoid undoes a void: the events that it reversed count again.
func (c *Client) UndoVoid(ctx context.Context, id int64, reason string) (Void, error) {
	var v Void
	err := c.do(ctx, call{
		op: "undo a void", method: http.MethodPost, path: "/v1/admin/voids/" + strconv.FormatInt(id, 10) + "/undo",
		sign: true,
		body: func(time.Time) any { return wire.ReasonRequest{Reason: reason} },
	}, &v)
	return v, err
}

// FlagQuery filters flags. State is open when empty.
type FlagQuery struct {
	State, User string
	After       int64
}

// Flags lists flags, oldest first.
func (c *Client) Flags(ctx context.Context, q FlagQuery) (Flags, error) {
	v := url.Values{}
	setText(v, "state", q.State)
	setText(v, "user_id", q.User)
	setInt(v, "after", q.After)
	var f Flags
	err := c.do(ctx, call{op: "list the flags", method: http.MethodGet, path: "/v1/admin/flags", query: v}, &f)
	return f, err
}

// Flag reads one flag.
func (c *Client) Flag(ctx context.Context, id int64) (Flag, error) {
	var f Flag
	err := c.do(ctx,
		call{op: "read a flag", method: http.MethodGet, path: "/v1/admin/flags/" + strconv.FormatInt(id, 10)}, &f)
	return f, err
}

// DismissFlag closes a flag as unfounded.
func (c *Client) DismissFlag(ctx context.Context, id int64, reason string) (Flag, error) {
	return c.decideFlag(ctx, "dismiss", id, reason)
}

// ConfirmFlag confirms a flag. It does not act on the user or the event; Ban, Freeze
// and Reverse do.
func (c *Client) ConfirmFlag(ctx context.Context, id int64, reason string) (Flag, error) {
	return c.decideFlag(ctx, "confirm", id, reason)
}

func (c *Client) decideFlag(ctx context.Context, verb string, id int64, reason string) (Flag, error) {
	var f Flag
	err := c.do(ctx, call{
		op: verb + " a flag", method: http.MethodPost,
		path: "/v1/admin/flags/" + strconv.FormatInt(id, 10) + "/" + verb, sign: true,
		body: func(time.Time) any { return wire.ReasonRequest{Reason: reason} },
	}, &f)
	return f, err
}
