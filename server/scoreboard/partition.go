package scoreboard

import "time"

// Partition is a span of the ledger that is kept in one piece.
type Partition struct {
	Name     string
	From, To time.Time
	Attached bool // rows in it are still seen as part of the ledger
}
