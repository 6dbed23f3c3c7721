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
