package protocol

import "time"

// IncrementRequest is the body of POST /v1/scores/increment and an item of a
// batch.
type IncrementRequest struct {
	UserID      string   `json:"user_id"`
	Delta       int64    `json:"delta"`
	EventID     string   `json:"event_id"`
	Timestamp   string   `json:"timestamp"`
	Signature   string   `json:"signature,omitempty"`
	KeyID       string   `json:"key_id,omitempty"`
	Board       string   `json:"board,omitempty"`
	Boards      []string `json:"boards,omitempty"`
	Action      string   `json:"action,omitempty"`
	ActionToken string   `json:"action_token,omitempty"`
	Attestation string   `json:"attestation,omitempty"`
}

// The statuses of an event.
const (
	StatusDone     = "done"
	StatusPending  = "pending"
	StatusRejected = "rejected"
)

// Receipt answers an increment on one board.
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

// Receipts answers an increment that named several boards.
type Receipts struct {
	UserID           string    `json:"user_id"`
	ProcessedEventID string    `json:"processed_event_id"`
	Receipts         []Receipt `json:"receipts"`
}

// EventStatus answers for an event without a receipt: pending or rejected.
type EventStatus struct {
	ProcessedEventID string `json:"processed_event_id"`
	Status           string `json:"status"`
	ErrorCode        string `json:"error_code,omitempty"`
	Message          string `json:"message,omitempty"`
}

// Error is the body of every error response. Clients branch on ErrorCode, Field
// and Reason, never on Message, which is for people and may change.
//
// Reason narrows an error_code down. An absent reason means that the code says
// all there is; clients must accept reasons that they do not know.
//
//	error_code          reason         which rule refused the request
//	delta_out_of_range  delta_limits   the limits of every increment (settings)
//	delta_out_of_range  board_bounds   min_delta and max_delta of a board
//	delta_out_of_range  action_rule    the rule of the action (setting ingest.actions)
//	delta_out_of_range  action_bounds  the bounds that the action was started with
//	delta_out_of_range  key_scope      max_delta of the signing key
//	delta_out_of_range  (absent)       ±(2^53 − 1), the range of every delta
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

// Batch is the body of POST /v1/scores/increments: up to MaxBatch items.
type Batch struct {
	Items []IncrementRequest `json:"items"`
}

// MaxBatch bounds the items of a batch.
const MaxBatch = 500

// BatchResults answers a batch, in the order of its items.
type BatchResults struct {
	Results []BatchResult `json:"results"`
}

// BatchResult is the result of one item: Status is done with a receipt, pending, or
// rejected with an error.
type BatchResult struct {
	Status  string   `json:"status"`
	Receipt *Receipt `json:"receipt,omitempty"`
	// Receipts are set for an item that gave boards.
	Receipts []Receipt `json:"receipts,omitempty"`
	Error    *Error    `json:"error,omitempty"`
}
