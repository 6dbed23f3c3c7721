package protocol

import "time"

// ActionRequest is the body of POST /v1/actions. Bounds must be within those of the
// boards.
type ActionRequest struct {
	UserID        string   `json:"user_id,omitempty"` // the token's user by default
	Board         string   `json:"board,omitempty"`   // the board, or Boards, exactly as the increment will name them
	Boards        []string `json:"boards,omitempty"`
	Action        string   `json:"action,omitempty"`
	LeastDuration string   `json:"least_duration,omitempty"` // minimum duration of the action, such as 30s
	TTL           string   `json:"ttl,omitempty"`            // lifetime of the action token, such as 1h
	MinDelta      *int64   `json:"min_delta,omitempty"`
	MaxDelta      *int64   `json:"max_delta,omitempty"`
}

// Action is a started action. Its token is valid for one increment of the user, from
// LeastDuration after IssuedAt until ExpiresAt.
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
