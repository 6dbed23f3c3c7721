package protocol

import (
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// IncrementRequest is the body of POST /v1/scores/increment and an item of a
// batch.
type IncrementRequest struct {
	UserID      string   `json:"user_id"`
	Delta       int64    `json:"delta"`                  // points to add; on best and latest boards the score
	EventID     string   `json:"event_id"`               // counts once per user, however often it is sent
	Timestamp   string   `json:"timestamp"`              // RFC 3339; part of the field scheme's text
	Signature   string   `json:"signature,omitempty"`    // signature of the field scheme, in hex
	KeyID       string   `json:"key_id,omitempty"`       // signing key of the field scheme
	Board       string   `json:"board,omitempty"`        // global by default
	Boards      []string `json:"boards,omitempty"`       // several boards instead: counts on all of them or on none
	Action      string   `json:"action,omitempty"`       // name of the user's action, for action rules
	ActionToken string   `json:"action_token,omitempty"` // for boards that require action-token
	Attestation string   `json:"attestation,omitempty"`  // for boards that require attestation

	WithoutDelta bool `json:"-"` // the decoded body has none, which is not the 0 that some boards accept
}

// The statuses of an event.
const (
	StatusDone     = "done"
	StatusPending  = "pending"
	StatusRejected = "rejected"
)

// Receipt is the outcome of an increment on one board. Applied is the difference between
// NewScore and PreviousScore. Replayed is true if the event was already counted. Rank is
// null if it could not be read in time.
type Receipt struct {
	UserID           string    `json:"user_id"`
	Board            string    `json:"board"`
	NewScore         int64     `json:"new_score"`
	PreviousScore    *int64    `json:"previous_score"`
	Rank             *int64    `json:"rank"`
	Version          int64     `json:"version"`
	ProcessedEventID string    `json:"processed_event_id"`
	Applied          int64     `json:"applied"`
	Replayed         bool      `json:"replayed"`
	Reversed         bool      `json:"reversed,omitempty"`
	RecordedAt       time.Time `json:"recorded_at"`
	Status           string    `json:"status"`
}

// Receipts is the response to an increment on several boards.
type Receipts struct {
	UserID           string    `json:"user_id"`
	ProcessedEventID string    `json:"processed_event_id"`
	Receipts         []Receipt `json:"receipts"`
	// ClosedBoards are the event's boards that have ended, on which a reversal with
	// open_boards left it as it was.
	ClosedBoards []string `json:"closed_boards,omitempty"`
}

// EventStatus is the status of an event without a receipt: pending or rejected.
type EventStatus struct {
	ProcessedEventID string `json:"processed_event_id"`
	Status           string `json:"status"`
	ErrorCode        string `json:"error_code,omitempty"`
	Message          string `json:"message,omitempty"`
}

// Error is the body of every error response. Clients branch on ErrorCode, Field and
// Reason, never on Message, which is for people and may change.
//
// Reason narrows down the error code delta_out_of_range. It is delta_limits (the
// settings ingest.min_delta and ingest.max_delta), board_bounds (the board's), action_rule
// (the setting ingest.actions), action_bounds (those that the action was started with) or
// key_scope (the key's max_delta). It is absent if the delta is not within ±(2^53 − 1),
// and for all other codes. Clients must accept reasons that they do not know.
type Error struct {
	ErrorCode string `json:"error_code"`
	Message   string `json:"message"`
	EventID   string `json:"event_id,omitempty"`
	Field     string `json:"field,omitempty"`
	Reason    string `json:"reason,omitempty"`
	RequestID string `json:"request_id"`
	// WouldRank is the rank that the requested score would have, if the user is not on
	// the board.
	WouldRank int64 `json:"would_rank,omitempty"`
}

// NewError is an error as clients see it: without its cause, and escaped, because
// messages and fields repeat what was sent. Every error that leaves the server is made
// here.
func NewError(e *scoreboard.Error) Error {
	return Error{
		ErrorCode: string(e.Code), Message: scoreboard.Escape(e.Message), Field: scoreboard.Escape(e.Field),
		Reason: string(e.Reason), WouldRank: e.WouldRank,
	}
}

// Batch is the body of POST /v1/scores/increments: up to 500 items.
type Batch struct {
	Items []IncrementRequest `json:"items"`
}

// MaxBatch bounds the items of a batch.
const MaxBatch = 500

// BatchResults is the response to a batch: a result for each item, in order.
type BatchResults struct {
	Results []BatchResult `json:"results"`
}

// BatchResult is the result of one item. Status is done, with a receipt; pending; or
// rejected, with an error.
type BatchResult struct {
	Status  string   `json:"status"`
	Receipt *Receipt `json:"receipt,omitempty"`
	// Receipts replaces Receipt for an item with boards.
	Receipts []Receipt `json:"receipts,omitempty"`
	Error    *Error    `json:"error,omitempty"`
}
