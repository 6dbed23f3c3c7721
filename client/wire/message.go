package wire

import "time"

// The types of messages.
const (
	MessageUpdated = "leaderboard.updated"
	MessageDelta   = "leaderboard.delta"
	MessageRank    = "user.rank.updated"
	MessageTier    = "user.tier.updated"
	MessageFriends = "user.friends.updated"
	MessageCohort  = "user.cohort.updated"
	MessageBye     = "bye"
	MessageError   = "error" // answers a command; the connection stays open
)

// Message is a realtime message: a WebSocket text message, or the data of a server-sent
// event with the name in Type and the id <epoch>:<version>. Which fields are set depends
// on Type: leaderboard.updated, leaderboard.delta, user.rank.updated, user.tier.updated,
// user.friends.updated, user.cohort.updated, bye or error.
type Message struct {
	// Type of the message: leaderboard.updated, leaderboard.delta, user.rank.updated, user.tier.updated,
	// user.friends.updated, user.cohort.updated, bye or error.
	Type    string `json:"type"`
	Board   string `json:"board,omitempty"`
	Version int64  `json:"version,omitempty"` // version of the board's top 100, which rises within an epoch
	// Number of the ranking: a message with a higher epoch is newer, whatever its version.
	Epoch int64     `json:"epoch,omitempty"`
	TS    time.Time `json:"ts,omitzero"` // time of the state in the message
	// In leaderboard.updated: the first rows of the board, best first.
	Top            []Entry `json:"top,omitempty"`
	Degraded       bool    `json:"degraded,omitempty"` // true if the message is not from a healthy ranking
	DegradedReason string  `json:"degraded_reason,omitempty"`
	// State of the board's ranking: CATCHING_UP or DEGRADED_REBUILDING; absent while it is HEALTHY.
	BoardState string `json:"board_state,omitempty"`
	// Time in milliseconds between messages while an overloaded server sends fewer.
	WindowMS int64 `json:"window_ms,omitempty"`

	Base    int64    `json:"base,omitempty"`    // in leaderboard.delta: the version that the changes apply to
	Changed []Entry  `json:"changed,omitempty"` // in leaderboard.delta: new and changed rows
	Removed []string `json:"removed,omitempty"` // in leaderboard.delta: users who left the rows

	// In user.rank.updated, user.tier.updated, user.friends.updated and user.cohort.updated: the user whose standing
	// changed.
	UserID string `json:"user_id,omitempty"`
	// In user.rank.updated and user.tier.updated: the user's new score, in points.
	Score *int64 `json:"score,omitempty"`
	// In user.rank.updated and user.tier.updated: what decides among equal scores; absent on boards without subscores.
	Subscore *int64 `json:"subscore,omitempty"`
	// In user.rank.updated and user.tier.updated: the new rank, from 1.
	Rank *int64 `json:"rank,omitempty"`
	// In user.rank.updated: the rank before, from 1; absent if the server does not know it.
	PreviousRank *int64 `json:"previous_rank,omitempty"`

	// In user.tier.updated: the tier that the user is in now; absent for none.
	Tier string `json:"tier,omitempty"`
	// In user.tier.updated: the tier before; absent for none.
	PreviousTier string `json:"previous_tier,omitempty"`

	// In user.friends.updated: the user and the user's friends who are on the board, best first.
	Friends []ListEntry `json:"friends,omitempty"`

	// In user.cohort.updated: the user's cohort; absent for none.
	Cohort *CohortState `json:"cohort,omitempty"`

	Reason           string `json:"reason,omitempty"`             // in bye: why the server closes the connection
	ReconnectAfterMS int64  `json:"reconnect_after_ms,omitempty"` // in bye: milliseconds to wait before you reconnect

	ErrorCode string `json:"error_code,omitempty"` // in error: the code of the rejected command
	Message   string `json:"message,omitempty"`    // in error: what is wrong with the command, in words
	Field     string `json:"field,omitempty"`      // in error: the field of the command that is wrong
}

// CohortState is the standings of a cohort in a message.
type CohortState struct {
	ID       int64   `json:"id"`       // id of the cohort
	Division int     `json:"division"` // division of the cohort; 1 is the lowest
	Entries  []Entry `json:"entries"`  // best first, with ranks in the cohort
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
