package wire

import (
	"encoding/json"
	"time"
)

// ReasonRequest is the body of POST /v1/admin/users/{user_id}/ban, …/unban,
// …/freeze, …/unfreeze and …/erase.
type ReasonRequest struct {
	Reason string `json:"reason"` // the operator's reason, for the audit trail, 1 to 500 characters
}

// UserState is the response to a ReasonRequest. Changed is false if the user already had
// the status.
type UserState struct {
	UserID  string `json:"user_id"`
	Status  string `json:"status"`            // active, frozen, banned or erased
	Changed bool   `json:"changed"`           // false if the user already had the status
	Pending bool   `json:"pending,omitempty"` // true if the change has not reached the rankings yet
}

// User is the response of GET /v1/admin/users/{user_id}.
type User struct {
	UserID string `json:"user_id"`
	// ExternalID is the identity provider's id of the user, if the user id is derived from it.
	ExternalID string      `json:"external_id,omitempty"`
	Status     string      `json:"status"`           // active, frozen, banned or erased
	CreatedAt  time.Time   `json:"created_at"`       // time at which the server first recorded something for the user
	Since      *time.Time  `json:"since,omitempty"`  // start of a freeze or ban
	By         string      `json:"by,omitempty"`     // operator who set the status
	Reason     string      `json:"reason,omitempty"` // the operator's reason
	OpenFlags  int64       `json:"open_flags"`       // number of flags of the user that wait for a decision
	Scores     []UserScore `json:"scores"`           // the 100 scores that changed last
	// VoidFailures lists the events that voids could not reverse or restore: at most 20, those
	// of the newest voids first.
	VoidFailures []VoidFailure `json:"void_failures,omitempty"`
}

// UserScore is a user's score on one board. A hidden score is in no ranking.
type UserScore struct {
	Board string `json:"board"`
	Score int64  `json:"score"`
	// What decides among equal scores; absent on boards without subscores.
	Subscore  *int64    `json:"subscore,omitempty"`
	Version   int64     `json:"version"` // version of the user's score on the board: 1, 2, 3, … with each event
	ReachedAt time.Time `json:"reached_at"`
	Hidden    bool      `json:"hidden,omitempty"` // true if the score is in no ranking, as while the user is banned
}

// ExportLine is one line of the NDJSON that GET /v1/admin/users/{user_id}/export and
// GET /v1/admin/boards/{board}/export return: a stored row or, on the last line, the
// number of rows. An export without that line is incomplete.
type ExportLine struct {
	// Kind is user, profile, score, final_standing, event, rejected_event,
	// dead_letter, flag, import, moderation or end; in a board's export standing or end.
	Kind string          `json:"kind"`
	Row  json.RawMessage `json:"row,omitempty"`  // the row; its fields depend on the kind
	Rows int64           `json:"rows,omitempty"` // on the last line: number of rows before it
}

// Erased is the response of POST /v1/admin/users/{user_id}/erase.
type Erased struct {
	Anonymous string `json:"anonymous"`         // user id that now replaces the original one in the ledger
	Rows      int64  `json:"rows"`              // number of changed ledger rows
	Pending   bool   `json:"pending,omitempty"` // true if rankings still show the user
}

// AdjustRequest is the body of POST /v1/admin/users/{user_id}/adjust. An event id counts
// once; a repeat returns the first receipt.
type AdjustRequest struct {
	Board string `json:"board,omitempty"` // name of the board; global by default
	// Points to add; negative to subtract. 0 only with a subscore that is not 0.
	Delta int64 `json:"delta"`
	// What to add to the subscore, on a board with subscores; negative to subtract.
	Subscore *int64 `json:"subscore,omitempty"`
	// Id of the adjustment: 1 to 128 of the characters A-Z a-z 0-9 . _ : @ and -; it counts once.
	EventID string `json:"event_id"`
	Reason  string `json:"reason"` // the operator's reason, for the audit trail, 1 to 500 characters
}

// ReverseRequest is the body of POST /v1/admin/events/{event_id}/reverse.
type ReverseRequest struct {
	UserID string `json:"user_id"` // user of the event
	Reason string `json:"reason"`  // the operator's reason, for the audit trail, 1 to 500 characters
	// OpenBoards reverses the event on its boards that are open, if others have ended: what
	// those keep is final. Without it, such an event is not reversed at all.
	OpenBoards bool `json:"open_boards,omitempty"`
	// Kind is event or adjustment, if an event of the user and an adjustment have the same
	// id. Without it, that is a conflict.
	Kind string `json:"kind,omitempty"`
}

// VoidRequest is the body of POST /v1/admin/voids. It selects all events that one key
// signed or one address sent, From (inclusive) To (exclusive). A dry run only counts
// them.
type VoidRequest struct {
	KeyID   string    `json:"key_id,omitempty"`  // key that signed the events; this or address
	Address string    `json:"address,omitempty"` // client address that sent the events; this or key_id
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Reason  string    `json:"reason,omitempty"` // the operator's reason, 1 to 500 characters; a dry run needs none
	DryRun  bool      `json:"dry_run,omitempty"`
}

// VoidPreview is the response to a dry run: the events that would be reversed.
type VoidPreview struct {
	Events int64         `json:"events"` // number of events
	Users  int64         `json:"users"`  // number of users with such events
	Boards []VoidedBoard `json:"boards"` // the same by board
	// Rewards that the void takes back; absent if there are none.
	Rewards *VoidedRewards `json:"rewards,omitempty"`
}

// VoidedRewards are the rewards of users whose events a void reverses, in periods in which these
// events counted.
type VoidedRewards struct {
	Revoked int64 `json:"revoked"` // unclaimed rewards, which cannot be claimed until the void is undone
	Flagged int64 `json:"flagged"` // claimed rewards, which stay claimed and are flagged
	// In a preview, at most 100 of them, by period and user, in their current state.
	First []Reward `json:"first,omitempty"`
}

// VoidedBoard is the part of a VoidPreview on one board. Applied is the sum of the
// applied deltas, and ±(2^53 − 1) if it is beyond that.
type VoidedBoard struct {
	Board   string `json:"board"`
	Events  int64  `json:"events"`          // number of events on the board
	Users   int64  `json:"users"`           // number of users with such events
	Applied int64  `json:"applied"`         // sum of what the events changed, in points
	Ended   bool   `json:"ended,omitempty"` // its standings are final and stay as they are
}

// Void is a job that reverses events. Its state is listing, reversing or done and, if
// it is undone, undoing or undone.
type Void struct {
	ID        int64      `json:"id"`                // number of the void
	State     string     `json:"state"`             // state of the void: listing, reversing, done, undoing or undone
	KeyID     string     `json:"key_id,omitempty"`  // key that signed the events
	Address   string     `json:"address,omitempty"` // client address that sent the events
	Board     string     `json:"board,omitempty"`   // board of the what-if that rejected the events
	Digest    string     `json:"digest,omitempty"`  // digest of the what-if's events
	From      time.Time  `json:"from"`
	To        time.Time  `json:"to"`
	Reason    string     `json:"reason"`
	Who       string     `json:"who"` // operator who created the void
	CreatedAt time.Time  `json:"created_at"`
	DoneAt    *time.Time `json:"done_at,omitempty"` // time at which it was done
	Todo      int64      `json:"todo"`              // number of events still to be reversed or restored
	Reversed  int64      `json:"reversed"`          // reversed events, including those whose reversal was undone
	Skipped   int64      `json:"skipped"`           // number of events that could not be reversed or restored
	Undone    int64      `json:"undone"`            // number of events that count again
	// SkippedFor counts skipped events by reason, for the ten most frequent reasons.
	SkippedFor map[string]int64 `json:"skipped_for,omitempty"`
	// ClosedBoards counts the reversed events that still count on a board that has ended, by
	// such a board, for the ten most frequent.
	ClosedBoards map[string]int64 `json:"closed_boards,omitempty"`
	// Rewards that the void has taken back; absent if there are none.
	Rewards *VoidedRewards `json:"rewards,omitempty"`
	// Waiting counts events that failed and are tried again. The void ends after them.
	Waiting int64 `json:"waiting"`
	// Failures lists events that wait or were skipped: at most 20, those that wait first.
	Failures []VoidFailure `json:"failures,omitempty"`
	// Problem is why the last attempt to work on the void ended early, if it did. The
	// void is tried again at NextAt; Attempts failed in a row.
	Problem  string     `json:"problem,omitempty"`
	Attempts int        `json:"attempts,omitempty"` // number of attempts in a row that failed
	NextAt   *time.Time `json:"next_at,omitempty"`
	// UndoAt is when the void was undone, if it was.
	UndoAt     *time.Time `json:"undo_at,omitempty"`
	UndoBy     string     `json:"undo_by,omitempty"`     // operator who undid the void
	UndoReason string     `json:"undo_reason,omitempty"` // that operator's reason
}

// VoidFailure is an event that a void could not reverse or restore. Its state is waiting
// (it is tried again at NextAt) or skipped. The event id is the UUID of the event.
type VoidFailure struct {
	VoidID   int64      `json:"void_id"` // number of the void
	UserID   string     `json:"user_id"`
	EventID  string     `json:"event_id"` // UUID of the event
	State    string     `json:"state"`    // state of the event: waiting (is tried again) or skipped
	Reason   string     `json:"reason"`   // why the last attempt failed, in words
	Attempts int        `json:"attempts"`
	NextAt   *time.Time `json:"next_at,omitempty"`
}

// Voids is the response of GET /v1/admin/voids, newest first.
type Voids struct {
	Voids []Void `json:"voids"` // up to 100 voids, newest first
}
