package wire

import (
	"time"
)

// Flag is a suspicious event for an operator to review. Times counts the events of the
// same user that triggered the same rule while the flag was open.
type Flag struct {
	ID      int64  `json:"id"`    // number of the flag
	State   string `json:"state"` // open, dismissed or confirmed
	Rule    string `json:"rule"`  // size, frequency, amount or travel
	Mode    string `json:"mode"`  // flag: the event was counted; enforce: it was rejected
	UserID  string `json:"user_id"`
	Board   string `json:"board"`
	EventID string `json:"event_id"`
	Delta   int64  `json:"delta"`  // delta of the event, in points
	Detail  string `json:"detail"` // what made the event suspicious, in words
	// Number of events of the user that triggered the rule while the flag was open.
	Times     int64      `json:"times"`
	CreatedAt time.Time  `json:"created_at"`           // time of the first of these events
	LastAt    time.Time  `json:"last_at"`              // time of the last of these events
	DecidedBy string     `json:"decided_by,omitempty"` // operator who dismissed or confirmed the flag
	DecidedAt *time.Time `json:"decided_at,omitempty"` // time of that decision
	Reason    string     `json:"reason,omitempty"`     // the operator's reason for that decision
}

// Flags is the response of GET /v1/admin/flags, oldest first. NextAfter is the value of
// after for the next page.
type Flags struct {
	Flags     []Flag `json:"flags"`                // the flags of the page, oldest first
	NextAfter int64  `json:"next_after,omitempty"` // number after which the next page begins; absent on the last page
}
