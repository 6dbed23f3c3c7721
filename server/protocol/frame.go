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

// Frame is any realtime message; which fields are set depends on Type. It is
// a WebSocket text message, or the data of an SSE event of that name with the
// id <epoch>:<version>.
type Frame struct {
	Type           string    `json:"type"`
	Board          string    `json:"board,omitempty"`
	Version        int64     `json:"version,omitempty"`
	Epoch          int64     `json:"epoch,omitempty"`
	TS             time.Time `json:"ts,omitzero"`
	Top            []Entry   `json:"top,omitempty"`
	Degraded       bool      `json:"degraded,omitempty"`
	DegradedReason string    `json:"degraded_reason,omitempty"`
	WindowMS       int64     `json:"window_ms,omitempty"` // set while an overloaded server sends less often

	// leaderboard.delta
	Base    int64    `json:"base,omitempty"`
	Changed []Entry  `json:"changed,omitempty"`
	Removed []string `json:"removed,omitempty"`

	// user.rank.updated
	UserID       string `json:"user_id,omitempty"`
	Score        *int64 `json:"score,omitempty"`
	Rank         *int64 `json:"rank,omitempty"`
	PreviousRank *int64 `json:"previous_rank,omitempty"`

	// bye
	Reason           string `json:"reason,omitempty"`
	ReconnectAfterMS int64  `json:"reconnect_after_ms,omitempty"`

	// error
	ErrorCode string `json:"error_code,omitempty"`
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
