package wire

import (
	"time"
)

// IncrementRequest is the body of POST /v1/scores/increment and an item of a
// batch.
type IncrementRequest struct {
	// User who gets the points: 1 to 64 of the characters A-Z a-z 0-9 . _ : @ and -.
	UserID string `json:"user_id"`
	// Points to add within the limits of the board; on best and latest boards the score.
	Delta int64 `json:"delta"`
	// 1 to 128 of the characters A-Z a-z 0-9 . _ : @ and -; counts once per user, however often it is sent.
	EventID   string   `json:"event_id"`
	Timestamp string   `json:"timestamp"`           // time of the event, RFC 3339; part of the field scheme's text
	Signature string   `json:"signature,omitempty"` // signature of the field scheme, in hex
	KeyID     string   `json:"key_id,omitempty"`    // id of the signing key of the field scheme
	Board     string   `json:"board,omitempty"`     // name of the board; global by default
	Boards    []string `json:"boards,omitempty"`    // 1 to 10 boards instead: counts on all of them or on none
	// Name of the user's action, for action rules: up to 64 of the characters A-Z a-z 0-9 . _ : @ and -.
	Action string `json:"action,omitempty"`
	// Token of POST /v1/actions, for boards that require action-token.
	ActionToken string `json:"action_token,omitempty"`
	Attestation string `json:"attestation,omitempty"` // token of a game server, for boards that require attestation
	// Attributes that board rules match, such as region and platform: up to 8. With board or boards, only from servers
	// (scope score:update), for leagues whose cohorts fill by one. They require the header scheme, because the field
	// scheme does not cover them.
	Attributes map[string]string `json:"attributes,omitempty"`
	// Counts only while this is the current period of one of the boards that the increment names, such as
	// weekly:2026-w47. Requires the header scheme, because the field scheme does not cover it.
	IfPeriod string `json:"if_period,omitempty"`
	// What the submission says about itself: an object of at most 1 KiB, for boards that keep metadata. Requires the
	// header scheme, because the field scheme does not cover it.
	Metadata Object `json:"metadata,omitempty"`
	// What decides among equal scores, on boards that have subscores, within the limits of the board: added on
	// increment boards, kept with the score on best and latest boards; 0 by default. Requires the header scheme,
	// because the field scheme does not cover it.
	Subscore *int64 `json:"subscore,omitempty"`

	WithoutDelta bool   `json:"-"` // the decoded body has none, which is not the 0 that some boards accept
	SignedDelta  string `json:"-"` // as it stands in the decoded body, if that is not the plain integer
}

// The statuses of an event.
const (
	StatusDone     = "done"
	StatusPending  = "pending"
	StatusRejected = "rejected"
)

// Receipt is the outcome of an increment on one board. Applied is the difference between
// NewScore and PreviousScore; the subscore may have changed although it is 0. Replayed is true if
// the event was already counted. Rank is null if it could not be read in time.
type Receipt struct {
	UserID        string `json:"user_id"`
	Board         string `json:"board"`
	NewScore      int64  `json:"new_score"` // the user's score after the event, in points
	PreviousScore *int64 `json:"previous_score"`
	// The user's subscore after the event; absent on boards without subscores.
	NewSubscore *int64 `json:"new_subscore,omitempty"`
	// The subscore before; absent where previous_score is null, and on boards without subscores.
	PreviousSubscore *int64 `json:"previous_subscore,omitempty"`
	// Current rank on the board, from 1; null if it could not be read in time.
	Rank             *int64 `json:"rank"`
	Version          int64  `json:"version"` // version of the user's score on the board: 1, 2, 3, … with each event
	ProcessedEventID string `json:"processed_event_id"`
	// Change of the score, in points; 0 if a best score was not beaten.
	Applied int64 `json:"applied"`
	// True if the event was counted before, and this is its first receipt.
	Replayed   bool      `json:"replayed"`
	Reversed   bool      `json:"reversed,omitempty"` // true if the event was reversed later
	RecordedAt time.Time `json:"recorded_at"`
	Status     string    `json:"status"` // always done
	// Receipts of the boards on which the event counts by their rules, by name, if there are any.
	Matched []Receipt `json:"matched,omitempty"`
}

// Receipts is the response to an increment on several boards.
type Receipts struct {
	UserID           string `json:"user_id"`
	ProcessedEventID string `json:"processed_event_id"`
	// A receipt for each board, in the order of the request; in a look-up, by their names.
	Receipts []Receipt `json:"receipts"`
	// ClosedBoards lists the event's boards that have ended, on which a reversal with
	// open_boards left it as it was.
	ClosedBoards []string `json:"closed_boards,omitempty"`
}

// EventStatus is the status of an event without a receipt: pending or rejected.
type EventStatus struct {
	ProcessedEventID string `json:"processed_event_id"`
	// Status of the event: pending (is recorded later) or rejected.
	Status    string `json:"status"`
	ErrorCode string `json:"error_code,omitempty"` // if rejected: the error code, as in an error response
	Message   string `json:"message,omitempty"`    // if rejected: what is wrong, in words
}

// Error is the body of every error response. Clients branch on ErrorCode, Field and
// Reason, never on Message, which is for people and may change.
//
// Reason narrows down the error code delta_out_of_range. It is delta_limits (the
// settings ingest.min_delta and ingest.max_delta), board_bounds (the board's), action_rule
// (the setting ingest.actions), action_bounds (those that the action was started with) or
// key_scope (the key's max_delta). It is absent if the delta is not within ±(2^53 − 1).
// Of rule_violated, it is action_by where the action's rule does not allow the caller. It
// is absent for all other codes. Clients must accept reasons that they do not know.
type Error struct {
	ErrorCode string `json:"error_code"`         // what is wrong, for programs
	Message   string `json:"message"`            // what is wrong and what to do, for people; it may change
	EventID   string `json:"event_id,omitempty"` // event of the request, if it has one
	Field     string `json:"field,omitempty"`    // name of the field or parameter that is wrong, if any
	// Narrows down delta_out_of_range (delta_limits, board_bounds, action_rule, action_bounds or key_scope) and
	// rule_violated (action_by).
	Reason string `json:"reason,omitempty"`
	// Id of the request, as in the response header X-Request-Id and in the log.
	RequestID string `json:"request_id"`
	// WouldRank is the rank that the requested score would have, if the user is not on
	// the board.
	WouldRank int64 `json:"would_rank,omitempty"`
	// When the next period begins, in attempts_used; absent if no next period is planned.
	NextReset *time.Time `json:"next_reset,omitempty"`
}

// Batch is the body of POST /v1/scores/increments: up to 500 items.
type Batch struct {
	Items []IncrementRequest `json:"items"` // up to 500 increments
}

// MaxBatch bounds the items of a batch.
const MaxBatch = 500

// BatchResults is the response to a batch: a result for each item, in order.
type BatchResults struct {
	Results []BatchResult `json:"results"` // a result for each item, in order
}

// BatchResult is the result of one item: done, with a receipt, or rejected, with an error.
type BatchResult struct {
	Status  string   `json:"status"`            // done or rejected
	Receipt *Receipt `json:"receipt,omitempty"` // if done: the increment's receipt
	// For an item with boards: a receipt for each, instead of Receipt.
	Receipts []Receipt `json:"receipts,omitempty"`
	Error    *Error    `json:"error,omitempty"` // if rejected: why
}
