package protocol

import "time"

// Statement is the response of GET /v1/users/{user_id}/statement: a user's events in the
// ledger, newest first. NextCursor is the cursor of the next page. ArchivedBefore is set on
// the last page if older events are in the archive.
type Statement struct {
	Entries        []StatementEntry `json:"entries"`
	NextCursor     string           `json:"next_cursor,omitempty"`
	ArchivedBefore *time.Time       `json:"archived_before,omitempty"`
}

// StatementEntry is one event on one board: its delta, the score before and after it,
// and its key, address and user agent.
type StatementEntry struct {
	EventID       string    `json:"event_id"`
	Kind          string    `json:"kind,omitempty"` // adjustment, reversal or undo; absent for a client's event
	Board         string    `json:"board"`
	Delta         int64     `json:"delta"`
	PreviousScore *int64    `json:"previous_score"`
	NewScore      int64     `json:"new_score"`
	Version       int64     `json:"version"`
	RecordedAt    time.Time `json:"recorded_at"`
	Action        string    `json:"action,omitempty"`
	KeyID         string    `json:"key_id,omitempty"`
	Address       string    `json:"address,omitempty"`
	UserAgent     string    `json:"user_agent,omitempty"`
}
