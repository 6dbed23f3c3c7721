package scoreboard

import "time"

// Cursor is a position in the outbox: transaction id, then row id. In this
// order, below the oldest running transaction, nothing can appear behind it.
type Cursor struct {
	XID uint64
	ID  int64
}

// OutboxRow is a change that waits to be published.
type OutboxRow struct {
	Change
	Cursor Cursor
}

// OutboxPage is what a shard of the outbox had behind a cursor.
type OutboxPage struct {
	Rows []OutboxRow
	// Every row of a transaction below Settled was visible; all transactions
	// that had committed by At are below Next. So once a page with
	// Settled ≥ Next is drained, everything committed before At is read.
	Settled, Next uint64
	At            time.Time
}

// OutboxStatus is how far the relay is.
type OutboxStatus struct {
	Shards []ShardStatus
	// HorizonAge is how long the oldest writing transaction of the cluster has
	// been running: nothing that was committed after its start is published.
	HorizonAge time.Duration
	Partitions []string // of the outbox, in the order of time
}

// ShardStatus is one shard of the outbox.
type ShardStatus struct {
	Shard      int
	Owner      string // empty: nobody's
	Generation int64
	LeaseLeft  time.Duration // negative: it has run out
	Cursor     Cursor
	Attempts   int    // of the row behind the cursor
	LastError  string // of the last attempt
	Depth      int64  // rows that wait, counted up to a million
	OldestAge  time.Duration
}

// DeadLetter is what could not be carried, as it was.
type DeadLetter struct {
	ID        int64
	Topic     string // FromOutbox, or the transport's name of where it was
	Partition int    // or the shard of the outbox
	Offset    int64  // or the row id of the outbox
	Value     []byte
	Reason    string
	Attempts  int
	BuriedAt  time.Time
}

// FromOutbox is the topic of letters that the transport refused to take.
const FromOutbox = "outbox"
