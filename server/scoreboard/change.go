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

// Heartbeat is the relay's sign of life on a partition: everything of a shard
// committed before AsOf has been published. Every heartbeat says how many
// shards and partitions there are, so that an answer is as old as the oldest of
// all of them, also of those that have not been heard from.
type Heartbeat struct {
	Shard, Shards         int
	Partition, Partitions int // Partition is not on the wire: it is where the heartbeat came from
	AsOf                  time.Time
}
