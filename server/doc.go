// Package server puts the stations together. This page is the tour.
//
// An increment walks one way through the house:
//
//	         write                                                            watch
//	client ─► api ─► ingest ─► store ══► outbox ══► broker ══► projection ─► ranking ══► realtime ─► client
//	           │           (one transaction:         (Kafka)               (Redis, the
//	           │            ledger, score, outbox)                          board's version)
//	           │ read
//	           └───► leaderboard ─► ranking, else store
//
// ══ is a boundary that another process may be behind.
//
//   - api decodes and checks: token, signature, form, bounds. It answers when
//     ingest does.
//   - ingest gathers increments in lanes by user and has each batch recorded in
//     one transaction; then it asks the ranking for the ranks of the receipts.
//   - store is PostgreSQL, the truth. Record locks the users, looks for known
//     events, writes ledger, scores and outbox, and commits.
//   - outbox relays committed changes by a cursor of (xid, id) under a lease.
//   - broker is Kafka: events keyed by user. Redis Streams or nothing can take
//     its place (the setting transport), also while everything runs: one way is
//     written, all are read.
//   - projection consumes them and applies what is newer; what cannot be
//     applied goes to the dead letters.
//   - ranking is Redis. One script moves standings, bumps the board's version
//     if its top 100 changed, and publishes the notice.
//   - announce carries the notices to a compacted topic, at most one a board and
//     half a second, for whoever follows boards without Redis.
//   - realtime follows the notices, of Redis or of their topic, and sends states to WebSockets and event
//     streams, at most one a window.
//   - leaderboard answers reads, from this node's memory, the ranking or, marked,
//     from the store; profile knows the names that stand beside the scores.
//   - rollover ends the periods of boards, keeps their final standings and
//     announces them.
//   - repair rebuilds boards that Redis has lost, beside live traffic, and
//     compares everybody's ledger, score and ranking.
//   - auth says who asks and what was signed: tokens, keys, action tokens,
//     attestations; edge is TLS, and whose address and country it is; geo knows
//     countries by address.
//   - moderation works off voids and erasures, and forgets what is due.
//   - limit says how often who may ask, by buckets in Redis; breaker leaves alone
//     what does not answer and can be done without.
//
// The nouns are in scoreboard, their JSON in protocol, the settings in config.
// A station knows these, never a sibling: only New introduces stations to each
// other, and a test over the imports keeps it so. An interface stands with who
// calls it.
//
// Run starts what watches before what writes, and stops in the other order:
// not ready, finish requests, end streams, finish the relay's batch, commit
// the projection, close the backends.
package server
