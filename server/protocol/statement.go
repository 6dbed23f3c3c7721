package protocol

import "time"

// Statement answers GET /v1/users/{user_id}/statement: what the ledger has of
// a user, newest first. NextCursor is the cursor of the next page.
// ArchivedBefore is set on the last page where older events have left for the
// archive of the ledger.
type Statement struct {
	Entries        []StatementEntry `json:"entries"`
	NextCursor     string           `json:"next_cursor,omitempty"`
	ArchivedBefore *time.Time       `json:"archived_before,omitempty"`
}

// StatementEntry is one event on one board: what it was, the score before and
// after it, and by which key, from where and by what program it came.
type StatementEntry struct {
	EventID       string    `json:"event_id"`
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
