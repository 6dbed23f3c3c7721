package protocol

import "time"

// Flag is a suspicious event for an operator to review. Times counts the events of the
// same user that triggered the same rule while the flag was open.
type Flag struct {
	ID        int64      `json:"id"`
	State     string     `json:"state"` // open, dismissed or confirmed
	Rule      string     `json:"rule"`  // size, frequency, amount or travel
	Mode      string     `json:"mode"`  // flag: the event was counted; enforce: it was rejected
	UserID    string     `json:"user_id"`
	Board     string     `json:"board"`
	EventID   string     `json:"event_id"`
	Delta     int64      `json:"delta"`
	Detail    string     `json:"detail"`
	Times     int64      `json:"times"`
	CreatedAt time.Time  `json:"created_at"`
	LastAt    time.Time  `json:"last_at"`
	DecidedBy string     `json:"decided_by,omitempty"`
	DecidedAt *time.Time `json:"decided_at,omitempty"`
	Reason    string     `json:"reason,omitempty"`
}

// Flags is the response of GET /v1/admin/flags, oldest first. NextAfter is the value of
// after for the next page.
type Flags struct {
	Flags     []Flag `json:"flags"`
	NextAfter int64  `json:"next_after,omitempty"`
}
