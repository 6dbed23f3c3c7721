package wire

import "time"

// ActionRequest is the body of POST /v1/actions. Bounds must be within those of the
// boards.
type ActionRequest struct {
	UserID string `json:"user_id,omitempty"` // the token's user by default
	// Id of the only event that the token is for, up to 128 of the characters A-Z a-z 0-9 .
	// _ : @ and -; any event by default.
	ActionID string `json:"action_id,omitempty"`
	// The board, or Boards, exactly as the increment will name them.
	Board  string   `json:"board,omitempty"`
	Boards []string `json:"boards,omitempty"` // 1 to 10 boards, exactly as the increment will name them
	// Name of the action: up to 64 of the characters A-Z a-z 0-9 . _ : @ and -.
	Action      string `json:"action,omitempty"`
	MinDuration string `json:"min_duration,omitempty"` // minimum duration of the action, such as 30s
	TTL         string `json:"ttl,omitempty"`          // lifetime of the action token, such as 1h
	// Minimum delta of the increment, in points; the boards' minimum by default.
	MinDelta *int64 `json:"min_delta,omitempty"`
	// Maximum delta of the increment, in points; the boards' maximum by default.
	MaxDelta *int64 `json:"max_delta,omitempty"`
}

// Action is a started action. Its token is valid for one increment of the user, from
// MinDuration after IssuedAt until ExpiresAt.
type Action struct {
	ActionID    string    `json:"action_id"`    // id of the action, a UUID
	ActionToken string    `json:"action_token"` // token for the action_token of the increment
	UserID      string    `json:"user_id"`
	Board       string    `json:"board,omitempty"`
	Boards      []string  `json:"boards,omitempty"` // boards of the increment, if it names several
	Action      string    `json:"action,omitempty"` // name of the action
	MinDuration string    `json:"min_duration"`     // minimum duration of the action, such as 30s; 0s means none
	MinDelta    int64     `json:"min_delta"`
	MaxDelta    int64     `json:"max_delta"`
	IssuedAt    time.Time `json:"issued_at"`  // start of the action
	ExpiresAt   time.Time `json:"expires_at"` // time at which the action token expires
}
