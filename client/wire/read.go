package wire

import (
	"time"
)

// Entry is one row of a board.
type Entry struct {
	Rank   int64  `json:"rank"`
	UserID string `json:"user_id"`
	Score  int64  `json:"score"` // score on the board, in points within ±(2^53 − 1)
	// What decides among equal scores; absent on boards without subscores.
	Subscore    *int64 `json:"subscore,omitempty"`
	DisplayName string `json:"display_name,omitempty"`
	AvatarURL   string `json:"avatar_url,omitempty"`
	// true for a user who is not on any board: rank is the one that the score would have
	Private bool `json:"private,omitempty"`
	// Metadata of the submission that made the score, where the board shows it.
	Metadata Object `json:"metadata,omitempty"`
}

// Top is the response of GET /v1/leaderboard/top. If it is not from a healthy ranking,
// Degraded is true, and Version and Epoch are null.
type Top struct {
	Board          string    `json:"board"`
	Entries        []Entry   `json:"entries"` // the rows of the page, best first
	Total          int64     `json:"total"`
	UpdatedAt      time.Time `json:"updated_at"` // time of the last change of the top 100
	AsOf           time.Time `json:"as_of"`
	AgeMS          int64     `json:"age_ms"`
	Version        *int64    `json:"version"`
	Epoch          *int64    `json:"epoch"`
	Degraded       bool      `json:"degraded"`
	DegradedReason string    `json:"degraded_reason,omitempty"`
	BoardState     string    `json:"board_state,omitempty"` // HEALTHY, CATCHING_UP or DEGRADED_REBUILDING
	NextCursor     string    `json:"next_cursor,omitempty"`
}

// Place is the standing of one user on a board. Percentile is the share of users ranked
// below, in percent.
type Place struct {
	Board  string `json:"board"`
	UserID string `json:"user_id"`
	Score  int64  `json:"score"`
	// What decides among equal scores; absent on boards without subscores.
	Subscore       *int64    `json:"subscore,omitempty"`
	Rank           int64     `json:"rank"`
	Total          int64     `json:"total"`
	Percentile     float64   `json:"percentile"` // share of users ranked below, in percent with one decimal
	Version        *int64    `json:"version"`
	Epoch          *int64    `json:"epoch"`
	UpdatedAt      time.Time `json:"updated_at"` // time at which the user reached the score
	AsOf           time.Time `json:"as_of"`
	AgeMS          int64     `json:"age_ms"`
	Degraded       bool      `json:"degraded"`
	DegradedReason string    `json:"degraded_reason,omitempty"`
	BoardState     string    `json:"board_state,omitempty"`
	Neighbours     []Entry   `json:"neighbours,omitempty"` // the user and up to k rows above and below, best first
	// true for a user who is not on any board: rank, total and neighbours are as if the user were on this one
	Private bool `json:"private,omitempty"`
	// How many more events of the user the board records in its period, for reads of one's own standing, of
	// servers and of operators; absent without a limit, and for past moments.
	AttemptsLeft *int64 `json:"attempts_left,omitempty"`
	// When the board's period ends; absent without periods, and for past moments.
	EndsAt *time.Time `json:"ends_at,omitempty"`
	// When the next period begins; absent without periods, for a period that is over, and if no next season is
	// planned.
	NextReset *time.Time `json:"next_reset,omitempty"`
	// Tier of the board that the user is in; absent where the user is in none, and for a past time.
	Tier string `json:"tier,omitempty"`
	// The tier above, and how far it is; absent for a user in the first tier, and on a board without tiers.
	NextTier *NextTier `json:"next_tier,omitempty"`
	// Metadata of the submission that made the score, where the board keeps it and the caller may see it.
	Metadata Object `json:"metadata,omitempty"`
}

// JoinTicket is the response of GET /v1/realtime/token.
type JoinTicket struct {
	Token     string    `json:"token"`      // the ticket, for the query parameter token
	ExpiresAt time.Time `json:"expires_at"` // time until which it can be redeemed, 30 seconds after it was issued
}

// Users is the body of POST /v1/leaderboard/users.
type Users struct {
	// Name of the board, or of a family for its current instance; global by default.
	Board   string   `json:"board,omitempty"`
	UserIDs []string `json:"user_ids"` // 1 to 100 different user ids
}

// List is the response of POST /v1/leaderboard/users: the requested users who are on the
// board, best first, and the ids of those who are not.
type List struct {
	Board          string      `json:"board"`
	Entries        []ListEntry `json:"entries"`   // the users who are on the board, best first
	NotFound       []string    `json:"not_found"` // the user ids that are not on the board
	Total          int64       `json:"total"`     // number of users on the board
	Version        *int64      `json:"version"`
	Epoch          *int64      `json:"epoch"`
	AsOf           time.Time   `json:"as_of"`
	AgeMS          int64       `json:"age_ms"`
	Degraded       bool        `json:"degraded"`
	DegradedReason string      `json:"degraded_reason,omitempty"`
	BoardState     string      `json:"board_state,omitempty"`
}

// ListEntry is a row of a list. Rank is the rank on the board, ListRank the rank among
// the rows of the list, such as friends.
type ListEntry struct {
	ListRank int `json:"list_rank"` // rank among the rows of the list, from 1
	Entry
}

// ProfileRequest is the body of PUT /v1/users/{user_id}/profile. An absent field is
// cleared.
type ProfileRequest struct {
	// Name to show beside the score, 1 to 32 characters, normalised to NFKC.
	DisplayName string `json:"display_name,omitempty"`
	AvatarURL   string `json:"avatar_url,omitempty"`
}

// Profile is the response of GET and PUT /v1/users/{user_id}/profile.
type Profile struct {
	UserID      string    `json:"user_id"`
	DisplayName string    `json:"display_name,omitempty"`
	AvatarURL   string    `json:"avatar_url,omitempty"`
	UpdatedAt   time.Time `json:"updated_at"`
}
