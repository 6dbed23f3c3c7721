// Package limit limits rates per user and per address, with token buckets that all
// nodes share through Redis, and the open connections of a user.
//
// Promise: while Redis answers, a key is admitted at most rate·t + burst times in any
// time t, plus one slice for each node. A slice (100 ms worth of tokens, 1 below 1,200
// a minute) is leased from Redis in advance and handed out locally, so that a busy key
// costs a round trip per slice, not per request. A rejected key costs none until its
// wait is over. A token that is returned (Bucket.Return) is granted again by the same node,
// which keeps at most a full bucket of them.
//
// A user has at most as many connections as the limit, on all nodes together. A node's
// connections count as long as it renews their lease (30 s), in pipelines of its own
// goroutine. A join costs one round trip.
//
// Assumption: the clock is that of Redis, so the clocks of the nodes may differ; if it
// jumps back, a key waits for at most one token.
//
// Owner: Connections.Run, which renews the leases. Token buckets have no goroutine.
//
// On failure: while Redis does not answer within 50 ms, each node decides from its
// local state and admits at most rate·t + burst, plus a slice. The local state is
// bounded: beyond about 32,000 keys a limit evicts those that were unused for the
// longest time, with the rest of their slices. Meanwhile a node
// counts its own connections of a user only; it tells Redis all of them when that is
// back. The connections of a node that died count until their lease ends.
package limit
