package scoreboard

import "time"

// Cursor is a position in the outbox: transaction id, then row id. Below the
// oldest running transaction, no row can appear before a cursor in this order.
type Cursor struct {
	XID uint64
	ID  int64
}

// OutboxRow is a change to be published.
type OutboxRow struct {
	Change
	Cursor Cursor
}

// OutboxPage holds the rows of a shard after a cursor.
type OutboxPage struct {
	Rows []OutboxRow
	// Every row of a transaction below Settled was visible; all transactions
	// that had committed by At are below Next. So once a page with
	// Settled ≥ Next is drained, everything committed before At is read.
	Settled, Next uint64
	At            time.Time
}

// OutboxStatus is the progress of the relay.
type OutboxStatus struct {
	Shards []ShardStatus
	// HorizonAge is the age of the oldest writing transaction of the cluster:
	// nothing committed after its start is published.
	HorizonAge time.Duration
	Partitions []string // of the outbox, oldest first
}

// ShardStatus is one shard of the outbox.
type ShardStatus struct {
	Shard      int
	Owner      string // empty: none
	Generation int64
	LeaseLeft  time.Duration // negative: expired
	Cursor     Cursor
	Attempts   int    // of the row after the cursor
	LastError  string // of the last attempt
	Depth      int64  // unpublished rows, counted up to a million
	OldestAge  time.Duration
}

// DeadLetter is a record that could not be delivered or applied.
type DeadLetter struct {
	ID        int64
	Topic     string // FromOutbox, or the name in the transport
	Partition int    // or the shard of the outbox
	Offset    int64  // or the row id of the outbox
	Value     []byte
	Reason    string
	Attempts  int
	StoredAt  time.Time
}

// FromOutbox is the topic of letters that the transport rejected.
const FromOutbox = "outbox"
