package protocol

import "time"

// The types of realtime frames.
const (
	FrameUpdated = "leaderboard.updated"
	FrameDelta   = "leaderboard.delta"
	FrameRank    = "user.rank.updated"
	FrameBye     = "bye"
	FrameError   = "error" // answers a command; the connection stays open
)

// Frame is a realtime message: a WebSocket text message, or the data of a server-sent
// event with the name in Type and the id <epoch>:<version>. Which fields are set depends
// on Type: leaderboard.updated, leaderboard.delta, user.rank.updated, bye or error.
type Frame struct {
	Type           string    `json:"type"`
	Board          string    `json:"board,omitempty"`
	Version        int64     `json:"version,omitempty"`
	Epoch          int64     `json:"epoch,omitempty"`
	TS             time.Time `json:"ts,omitzero"`
	Top            []Entry   `json:"top,omitempty"`
	Degraded       bool      `json:"degraded,omitempty"`
	DegradedReason string    `json:"degraded_reason,omitempty"`
	WindowMS       int64     `json:"window_ms,omitempty"` // time between frames while an overloaded server sends fewer

	Base    int64    `json:"base,omitempty"`    // leaderboard.delta: the version that the changes apply to
	Changed []Entry  `json:"changed,omitempty"` // leaderboard.delta: new and changed rows
	Removed []string `json:"removed,omitempty"` // leaderboard.delta: users who left the rows

	UserID       string `json:"user_id,omitempty"` // user.rank.updated: the user whose standing changed
	Score        *int64 `json:"score,omitempty"`
	Rank         *int64 `json:"rank,omitempty"`
	PreviousRank *int64 `json:"previous_rank,omitempty"`

	Reason           string `json:"reason,omitempty"`             // bye: why the server closes the connection
	ReconnectAfterMS int64  `json:"reconnect_after_ms,omitempty"` // bye: wait this long before you reconnect

	ErrorCode string `json:"error_code,omitempty"` // error: the code of the rejected command
	Message   string `json:"message,omitempty"`
}

// Command is what a client may send over a WebSocket.
type Command struct {
	Type  string `json:"type"` // subscribe or unsubscribe
	Board string `json:"board"`
}

// The WebSocket close codes: the standard one for a restart, and custom ones.
const (
	CloseRestart      = 1012
	CloseToken        = 4401
	CloseForbidden    = 4403
	CloseSlowConsumer = 4408
	CloseLimit        = 4429
)
