package protocol

import "time"

// ActionRequest is the body of POST /v1/actions. Bounds must lie within those of the
// boards.
type ActionRequest struct {
	UserID        string   `json:"user_id,omitempty"` // default: the caller
	Board         string   `json:"board,omitempty"`   // or Boards, exactly as they will be submitted
	Boards        []string `json:"boards,omitempty"`
	Action        string   `json:"action,omitempty"`
	LeastDuration string   `json:"least_duration,omitempty"` // a Go duration
	TTL           string   `json:"ttl,omitempty"`            // a Go duration
	MinDelta      *int64   `json:"min_delta,omitempty"`
	MaxDelta      *int64   `json:"max_delta,omitempty"`
}

// Action is an action that was started. Its token is valid for one increment of the
// user, after LeastDuration and until ExpiresAt.
type Action struct {
	ActionID      string    `json:"action_id"`
	ActionToken   string    `json:"action_token"`
	UserID        string    `json:"user_id"`
	Board         string    `json:"board,omitempty"`
	Boards        []string  `json:"boards,omitempty"`
	Action        string    `json:"action,omitempty"`
	LeastDuration string    `json:"least_duration"`
	MinDelta      int64     `json:"min_delta"`
	MaxDelta      int64     `json:"max_delta"`
	IssuedAt      time.Time `json:"issued_at"`
	ExpiresAt     time.Time `json:"expires_at"`
}
