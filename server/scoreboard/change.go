package scoreboard

import "time"

// Change is what the pipeline carries from the ledger to the ranking: a user's
// state on a board after an event. It holds the absolute score and a revision,
// so that duplicates, inversions and replays are harmless.
type Change struct {
	Type       ChangeType
	Event      [16]byte
	Board      BoardID
	User       UserID
	Score      Score
	Previous   *Score
	Delta      int64 // applied
	Version    int64 // the user's ledger rows on the board
	Revision   int64 // everything the ranking must see; only a newer one is applied
	Key        int64 // Order.Key(Score): smaller is better
	ReachedAt  time.Time
	RecordedAt time.Time
	Hidden     bool // banned: kept as a tombstone, out of the ranking
	Trace      string
}

// ChangeType names why a standing changed.
type ChangeType string

const (
	ChangeScore ChangeType = "score.changed"
)
