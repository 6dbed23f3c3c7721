package scoreboard

import "time"

// Receipt is the outcome of one event on one board.
type Receipt struct {
	User       UserID
	Board      BoardID // the instance, for a periodic board
	Event      EventID
	NewScore   Score
	Previous   *Score // nil for the first score on a best or latest board
	Applied    int64  // after − before
	Version    int64  // counts the user's ledger rows on the board: 1, 2, 3
	RecordedAt time.Time
	Replayed   bool // the event was known; everything but Rank is the original
	Reversed   bool
	Rank       *int64 // 1-based and today's; nil when it could not be told in time
}

// Outcome is what one increment of a batch came to: receipts in the order of
// its boards, or an error.
type Outcome struct {
	Receipts []Receipt
	Err      error
}
