package wire

import "time"

// Statement is the response of GET /v1/users/{user_id}/statement: a user's events in the
// ledger, newest first. NextCursor is the cursor of the next page. ArchivedBefore is set on
// the last page if older events are in the archive.
type Statement struct {
	Entries        []StatementEntry `json:"entries"` // the events of the page, newest first
	NextCursor     string           `json:"next_cursor,omitempty"`
	ArchivedBefore *time.Time       `json:"archived_before,omitempty"` // events before this time are in the archive
	// Everything recorded before this time is included. Present only if a replica answered,
	// which may lack later events.
	AsOf *time.Time `json:"as_of,omitempty"`
}

// StatementEntry is one event on one board: its delta, the score before and after it,
// and its key, address and user agent.
type StatementEntry struct {
	EventID       string `json:"event_id"`
	Kind          string `json:"kind,omitempty"` // adjustment, reversal or undo; absent for a client's event
	Board         string `json:"board"`
	Delta         int64  `json:"delta"` // delta of the event, in points
	PreviousScore *int64 `json:"previous_score"`
	NewScore      int64  `json:"new_score"` // the user's score after the event, in points
	// subscore of the event; absent on boards without subscores
	Subscore *int64 `json:"subscore,omitempty"`
	// The user's subscore after the event; absent on boards without subscores.
	NewSubscore *int64    `json:"new_subscore,omitempty"`
	Version     int64     `json:"version"` // version of the user's score on the board: 1, 2, 3, … with each event
	RecordedAt  time.Time `json:"recorded_at"`
	Action      string    `json:"action,omitempty"`     // name of the action; absent if the event has none
	KeyID       string    `json:"key_id,omitempty"`     // key that signed the event
	Address     string    `json:"address,omitempty"`    // client address that sent the event
	UserAgent   string    `json:"user_agent,omitempty"` // user agent that sent the event
	Metadata    Object    `json:"metadata,omitempty"`   // metadata of the event, if the board keeps it
}
