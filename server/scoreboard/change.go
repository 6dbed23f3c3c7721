package scoreboard

import "time"

// Change is a user's state on a board after an event, as the pipeline delivers it
// from the ledger to the ranking. It has the absolute score and a revision, so
// duplicates, reordering and replays are harmless.
type Change struct {
	Type       ChangeType
	Event      [16]byte
	Board      BoardID
	User       UserID
	Score      Score
	Previous   *Score
	Delta      int64 // applied
	Version    int64 // the user's ledger rows on the board
	Revision   int64 // of everything the ranking must reflect; only a newer one is applied
	Key        int64 // Order.Key(Score): smaller is better
	Subscore   Score
	SubKey     int64 // likewise; 0 on a board without subscores
	ReachedAt  time.Time
	RecordedAt time.Time
	Hidden     bool   // banned: a tombstone, not ranked
	Trace      string // W3C traceparent if the request was sampled, else ""
}

// ChangeType is why a standing changed.
type ChangeType string

const (
	ChangeScore ChangeType = "score.changed"
)

// Heartbeat is published by the relay to every partition: everything of a shard
// committed before AsOf has been published. It includes the number of shards and
// partitions, so a reader takes the oldest AsOf of all of them, including those
// without a heartbeat yet.
type Heartbeat struct {
	Shard, Shards         int
	Partition, Partitions int // Partition is not encoded: it is where the heartbeat was read
	AsOf                  time.Time
}
