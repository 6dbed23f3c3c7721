// Package server assembles the daemon from its components. This page is the tour.
//
// The path of an increment, from the client that submits it to those that watch:
//
//	            write                                                                  watch
//	client ─► api ─► ingest ─► store ══► outbox ══► transport ══► projection ─► ranking ══► realtime ─► client
//	           │          (one transaction:      (Kafka, Redis                  (Redis)
//	           │           ledger, scores,        streams, direct)
//	           │           outbox)
//	           │ read
//	           └───► leaderboard ─► ranking, else store
//
// ══ marks a boundary between processes: what follows may run in another one.
//
// The write path:
//
//   - api decodes and validates requests: tokens, signatures, bounds. It answers
//     an increment when ingest has recorded it.
//   - ingest batches increments in lanes by user, has each batch recorded in one
//     transaction, and reads the ranks for the receipts.
//   - ledger decides the outcome of a batch, without a database: repeats, bounds,
//     action rules, anomalies, receipts.
//   - store is PostgreSQL, the source of truth, with one package per aggregate.
//     Recording locks the users, claims the event ids, and writes the ledger, the
//     scores and the outbox.
//   - outbox relays committed changes, by a cursor of (xid, id) under a lease.
//   - transport carries them, keyed by user, over Kafka, Redis streams or within
//     the process. Operators can switch while everything runs: one transport is
//     written, all are read.
//   - projection consumes them and applies what is newer than the ranking. What
//     cannot be applied goes to the dead letters.
//   - ranking is Redis. One script updates standings, increments the board's
//     version if its top 100 changed, and publishes a notice.
//
// The read path:
//
//   - leaderboard answers reads from this node's cache, the ranking, or, marked as
//     degraded, the store; profile adds display names.
//   - realtime follows notices and sends states to WebSockets (realtime/ws) and
//     event streams (realtime/sse), at most one per window.
//   - announce publishes notices to a compacted Kafka topic, for consumers that
//     follow boards without Redis.
//   - mirror writes changes in the formats of other specifications, for consumers
//     that were written for those.
//
// Around them:
//
//   - auth verifies tokens, keys, action tokens and attestations; edge handles TLS
//     and client addresses; geo maps addresses to countries; limit holds the rate
//     limits.
//   - upkeep is the work beside requests: it keeps the table in which ranks are counted
//     without Redis, stores the standings of moments, from which past standings are read,
//     computes the scores of teams, ends the periods of boards and announces them,
//     executes voids and erasures, deletes expired data, and seals the audit trail. Below
//     it, repair rebuilds rankings beside live traffic, and compares ledger, scores and
//     rankings of all users; archive moves old ledger partitions out of the database;
//     webhook sends messages.
//   - dialect serves the APIs of other specifications by the operations of api.
//   - admin holds the operations that the API offers to operators; health reports a
//     node's readiness, checks and rates; settings keeps the configuration in force;
//     frontpage serves GET / of both addresses, docs the documentation, web the pages of
//     boards, and console the operators' pages, which act through the API.
//
// The domain types are in scoreboard, the JSON shapes in protocol, the deployed
// configuration in config. A component imports those and never another component:
// only New connects components. The stores know the domain types only, never a JSON
// shape. structure_test.go enforces both. An interface is declared by its caller.
//
// Run waits until the database has a schema that this version supports; meanwhile the
// API answers 503 with the reason. Then it starts the components that observe before
// those that write, and stops them in reverse: it reports not ready, finishes requests,
// closes streams, finishes the relay's batch, commits the projection, and closes the
// backends.
package server
