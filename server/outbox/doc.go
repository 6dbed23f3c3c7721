// Package outbox relays what the store has committed to the transport.
//
// Promise: every row of the outbox is published at least once, in the order of
// (transaction id, row id), and the cursor moves only over what the transport
// has acknowledged, contiguously. A heartbeat follows each second: everything
// of the shard committed before it has been published.
//
// Assumption: the queue shows no row that a running transaction could still
// get in front of; what follows compares revisions, so a row that is published
// twice does nothing.
//
// Owner: one relay a shard, by a lease with a generation. A relay that lost
// its lease may publish a batch again, but cannot move the cursor. Relays that
// are alive share the shards, every n-th each; the part of one that dies or
// hangs is taken by the others within two seconds. Rows of more shards than are
// configured are relayed, too.
//
// A cursor belongs to one history of the database. Where that was restored, or
// is another one, nothing is published until the history is adopted.
//
// On failure: it waits with backoff and jitter and starts again from the
// cursor. A row that the transport refuses for its size is tried some times
// alone and then buried; an outage never buries anything.
//
// Upkeep makes the outbox's partitions ahead, drops them behind the slowest
// cursor, and measures what waits.
package outbox
