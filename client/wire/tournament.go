package wire

import "time"

// The values of Join.
const (
	JoinOpen     = "open"
	JoinRequired = "required"
)

// Participation says who has joined a period of a board that requires it.
type Participation struct {
	Board      string    `json:"board"`                 // the period
	StartsAt   time.Time `json:"starts_at"`             // time at which it begins
	EndsAt     time.Time `json:"ends_at"`               // time at which it ends
	Players    int64     `json:"players"`               // number of users who have joined it
	MaxPlayers int64     `json:"max_players,omitempty"` // maximum number of users who join it; absent without a limit
	UserID     string    `json:"user_id,omitempty"`     // the user; absent if none is named
	Joined     bool      `json:"joined"`                // whether the user has joined it
	// Time at which the user joined it; absent if the user has not.
	JoinedAt *time.Time `json:"joined_at,omitempty"`
}

// Player is a user who has joined a period.
type Player struct {
	UserID   string    `json:"user_id"`
	JoinedAt time.Time `json:"joined_at"` // time at which the user joined it
}

// Players is a page of the users who have joined a period, by user id.
type Players struct {
	Players   []Player `json:"players"`              // ordered by user id
	NextAfter string   `json:"next_after,omitempty"` // value of after for the next page; absent on the last page
}
