package protocol

import (
	"encoding/json"
	"time"
)

// ReasonRequest is the body of POST /v1/admin/users/{user_id}/ban, …/unban,
// …/freeze, …/unfreeze and …/erase.
type ReasonRequest struct {
	Reason string `json:"reason"`
}

// UserState answers a ReasonRequest with the user's status. Changed is false if the
// status was the same before.
type UserState struct {
	UserID  string `json:"user_id"`
	Status  string `json:"status"` // active, frozen, banned or erased
	Changed bool   `json:"changed"`
	Pending bool   `json:"pending,omitempty"` // the change has not reached the rankings yet
}

// User answers GET /v1/admin/users/{user_id}.
type User struct {
	UserID    string      `json:"user_id"`
	Status    string      `json:"status"` // active, frozen, banned or erased
	CreatedAt time.Time   `json:"created_at"`
	Since     *time.Time  `json:"since,omitempty"`  // of frozen or banned
	By        string      `json:"by,omitempty"`     // the operator
	Reason    string      `json:"reason,omitempty"` // given by the operator
	OpenFlags int64       `json:"open_flags"`
	Scores    []UserScore `json:"scores"` // the hundred that changed last
}

// UserScore is a user's score on one board. Hidden scores are in no ranking.
type UserScore struct {
	Board     string    `json:"board"`
	Score     int64     `json:"score"`
	Version   int64     `json:"version"`
	ReachedAt time.Time `json:"reached_at"`
	Hidden    bool      `json:"hidden,omitempty"`
}

// ExportLine is one line of GET /v1/admin/users/{user_id}/export, which is NDJSON: a
// stored row, or as the last line the number of rows. Without that line the export is
// incomplete.
type ExportLine struct {
	// Kind is user, profile, score, final_standing, event, rejected_event,
	// dead_letter, flag, moderation or end.
	Kind string          `json:"kind"`
	Row  json.RawMessage `json:"row,omitempty"`
	Rows int64           `json:"rows,omitempty"`
}

// Erased answers POST /v1/admin/users/{user_id}/erase.
type Erased struct {
	Anonymous string `json:"anonymous"`         // the user id in the ledger now
	Rows      int64  `json:"rows"`              // of the ledger that were changed
	Pending   bool   `json:"pending,omitempty"` // rankings still show the user
}

// AdjustRequest is the body of POST /v1/admin/users/{user_id}/adjust. A repeated
// event_id is a replay.
type AdjustRequest struct {
	Board   string `json:"board,omitempty"` // default global
	Delta   int64  `json:"delta"`           // signed
	EventID string `json:"event_id"`
	Reason  string `json:"reason"`
}

// ReverseRequest is the body of POST /v1/admin/events/{event_id}/reverse.
type ReverseRequest struct {
	UserID string `json:"user_id"`
	Reason string `json:"reason"`
}

// VoidRequest is the body of POST /v1/admin/voids: all events that one key or one
// address sent from a time (inclusive) to another (exclusive). A dry run only counts.
type VoidRequest struct {
	KeyID   string    `json:"key_id,omitempty"`
	Address string    `json:"address,omitempty"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Reason  string    `json:"reason,omitempty"`
	DryRun  bool      `json:"dry_run,omitempty"`
}

// VoidPreview answers a dry run: the events that would be reversed.
type VoidPreview struct {
	Events int64         `json:"events"`
	Users  int64         `json:"users"`
	Boards []VoidedBoard `json:"boards"`
}

// VoidedBoard is the part on one board. Applied is the sum of the applied deltas.
type VoidedBoard struct {
	Board   string `json:"board"`
	Events  int64  `json:"events"`
	Users   int64  `json:"users"`
	Applied int64  `json:"applied"`
}

// Void is a job that reverses events. Its states are listing, reversing, done;
// undoing, undone.
type Void struct {
	ID        int64      `json:"id"`
	State     string     `json:"state"`
	KeyID     string     `json:"key_id,omitempty"`
	Address   string     `json:"address,omitempty"`
	From      time.Time  `json:"from"`
	To        time.Time  `json:"to"`
	Reason    string     `json:"reason"`
	Who       string     `json:"who"`
	CreatedAt time.Time  `json:"created_at"`
	DoneAt    *time.Time `json:"done_at,omitempty"`
	Todo      int64      `json:"todo"`
	Reversed  int64      `json:"reversed"` // including those that were undone
	Skipped   int64      `json:"skipped"`
	Undone    int64      `json:"undone"`
	// SkippedFor counts skipped events by reason, the ten most frequent ones.
	SkippedFor map[string]int64 `json:"skipped_for,omitempty"`
	// Of the undo, if there was one.
	UndoAt     *time.Time `json:"undo_at,omitempty"`
	UndoBy     string     `json:"undo_by,omitempty"`
	UndoReason string     `json:"undo_reason,omitempty"`
}

// Voids answers GET /v1/admin/voids: the newest first.
type Voids struct {
	Voids []Void `json:"voids"`
}
