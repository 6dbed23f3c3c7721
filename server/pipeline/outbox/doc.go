// Package outbox relays committed changes from the store to the transport.
//
// Promise: every row of the outbox is published at least once, in the order of
// (transaction id, row id). The cursor moves only over rows that the transport
// has acknowledged, without a gap. Each second a heartbeat follows: every row of
// the shard that was committed before its time has been published.
//
// Assumption: the queue returns no row that a running transaction could still
// precede. Consumers compare revisions, so a row that is published twice has no
// effect the second time.
//
// Owner: one relay for each shard, by a lease with a generation. A relay that
// has lost its lease may publish a batch once more, but cannot move the cursor.
// The live relays share the shards: with n relays each takes every n-th shard.
// If one dies or hangs, the others take over its shards within two seconds.
// Rows of shards beyond the configured number are relayed, too.
//
// A cursor belongs to one history of the database. If the database was restored
// or replaced, nothing is published until the restored history is adopted:
// by one node for the same database, by an operator for another one (package repair).
//
// On failure: the relay waits with backoff and jitter, and starts again from the
// cursor. A row that the transport rejects for its size is retried alone a few
// times, then moved to the dead letters. An outage moves nothing there.
//
// Maintenance creates the partitions of the outbox ahead of time, drops those
// that every cursor has passed, and measures the backlog.
package outbox
