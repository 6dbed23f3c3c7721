package protocol

import "time"

// Entry is one row of a board, everywhere that rows are shown.
type Entry struct {
	Rank        int64  `json:"rank"`
	UserID      string `json:"user_id"`
	Score       int64  `json:"score"`
	DisplayName string `json:"display_name,omitempty"`
	AvatarURL   string `json:"avatar_url,omitempty"`
}

// Top answers GET /v1/leaderboard/top. Version and epoch are null when the
// answer is degraded, that is, not from a healthy ranking.
type Top struct {
	Board          string    `json:"board"`
	Entries        []Entry   `json:"entries"`
	Total          int64     `json:"total"`
	UpdatedAt      time.Time `json:"updated_at"`
	AsOf           time.Time `json:"as_of"`
	AgeMS          int64     `json:"age_ms"`
	Version        *int64    `json:"version"`
	Epoch          *int64    `json:"epoch"`
	Degraded       bool      `json:"degraded"`
	DegradedReason string    `json:"degraded_reason,omitempty"`
	NextCursor     string    `json:"next_cursor,omitempty"`
}

// Place answers GET /v1/leaderboard/me and the reads of one user.
type Place struct {
	Board          string    `json:"board"`
	UserID         string    `json:"user_id"`
	Score          int64     `json:"score"`
	Rank           int64     `json:"rank"`
	Total          int64     `json:"total"`
	Percentile     float64   `json:"percentile"`
	Version        *int64    `json:"version"`
	Epoch          *int64    `json:"epoch"`
	UpdatedAt      time.Time `json:"updated_at"`
	AsOf           time.Time `json:"as_of"`
	AgeMS          int64     `json:"age_ms"`
	Degraded       bool      `json:"degraded"`
	DegradedReason string    `json:"degraded_reason,omitempty"`
	Neighbours     []Entry   `json:"neighbours,omitempty"`
}

// JoinTicket is the answer of GET /v1/realtime/token.
type JoinTicket struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}
