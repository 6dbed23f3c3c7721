package scoreboard

import (
	"encoding/json"
	"time"
	"unicode/utf8"
)

// AuditEntry is one row of the audit log: a change made by an operator.
type AuditEntry struct {
	ID        int64
	At        time.Time
	Actor     UserID // the subject of the token, or SystemActor
	Address   string
	Agent     string
	RequestID string
	Action    string // user.ban, key.create; else the method and path of the request
	Target    string // user:alice, board:global
	Reason    string
	Detail    json.RawMessage // nil: none
}

// AuditFilter selects entries; empty fields match all.
type AuditFilter struct {
	Actor, Action, Target string
	From, To              time.Time
	Before                int64 // entries with a lower id; 0: from the newest
	Limit                 int
}

// MaxReason is the longest reason, in characters.
const MaxReason = 500

// CheckReason validates the reason of an operator's change.
func CheckReason(reason string) error {
	if reason == "" || utf8.RuneCountInString(reason) > MaxReason || !IsText(reason) {
		return Invalid("reason", "reason must be 1 to %d characters of UTF-8, without control characters", MaxReason)
	}
	return nil
}

// AuditUser returns the audit target of a user.
func AuditUser(user UserID) string { return "user:" + string(user) }
