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
// The folders are floors. A package imports lower floors only, bottom first:
//
//   - scoreboard is the domain; ledger decides the outcome of a batch, without a database:
//     repeats, bounds, action rules, anomalies, receipts; protocol decodes requests and
//     has the formats between servers; sources reads boards of other servers, to be
//     imported. What clients see as JSON is in client/wire, which the Go client shares.
//   - config is the configuration: what is deployed, and what is in force.
//   - store is PostgreSQL, the source of truth, with a package for each group of tables
//     that change together. Recording locks the users, claims the event ids, and writes
//     the ledger, the scores and the outbox.
//   - Then the components, which never import each other: only New connects them. An
//     interface is declared by its caller.
//   - admin holds the operations that the API offers to operators; health reports a
//     node's readiness, checks and rates.
//   - server itself, which assembles them, and devstack, the backends of scoreboardd dev.
//
// The components of the write path are in pipeline:
//
//   - pipeline/ingest batches increments in lanes by user, has each batch recorded in one
//     transaction, and reads the ranks for the receipts.
//   - pipeline/outbox relays committed changes, by a cursor of (xid, id) under a lease.
//   - pipeline/transport carries them, keyed by user, over Kafka, Redis streams or within
//     the process. Operators can switch while everything runs: one transport is
//     written, all are read.
//   - pipeline/projection consumes them and applies what is newer than the ranking. What
//     cannot be applied goes to the dead letters.
//   - pipeline/announce publishes notices to a compacted Kafka topic, for consumers that
//     follow boards without Redis.
//   - pipeline/mirror writes changes in the formats of other specifications, for consumers
//     that were written for those.
//
// Of the read path:
//
//   - ranking is Redis. One script updates standings, increments the board's
//     version if its top 100 changed, and publishes a notice. Boards in one piece are in
//     ranking/whole, boards in partitions in ranking/partitions, and what both have in
//     common in ranking/piece.
//   - leaderboard answers reads from this node's cache, the ranking, or, marked as
//     degraded, the store; leaderboard/display adds names and hides users.
//   - realtime follows notices and sends states to WebSockets (realtime/ws) and
//     event streams (realtime/sse), at most one per window.
//
// What clients, players and operators send requests to is in http:
//
//   - http/edge handles TLS, client addresses and their countries; http/auth verifies
//     tokens, keys, action tokens and attestations; http/limit holds the rate limits.
//   - http/api decodes and validates requests: tokens, signatures, bounds. It answers
//     an increment when ingest has recorded it.
//   - http/dialect serves the APIs of other specifications by the operations of api.
//   - http/pages serves GET / of both addresses and the pages of boards, http/docs the
//     documentation, and http/console the operators' pages, which act through the API.
//
// What runs beside requests is in upkeep:
//
//   - upkeep runs all of it by one runner, under leases. It keeps the table in which ranks
//     are counted without Redis, stores the standings of moments, from which past standings
//     are read, computes the scores of teams, ends the periods of boards and announces
//     them, executes voids and erasures, deletes expired data, and seals the audit trail.
//   - upkeep/repair rebuilds rankings beside live traffic, and compares ledger, scores and
//     rankings of all users; upkeep/archive moves old ledger partitions out of the
//     database; upkeep/webhook sends messages.
//
// A subject has the same file name on every floor. What operators change at run time, for
// example, is settings.go: its rows in store/operations, the routes in http/api, the pages
// in http/console, and the methods and commands in client and cmd/sbctl; what is in force is
// the Manager of config. Three words have one meaning each:
//
//   - The ledger is the table with a row for every event and board. Package ledger decides
//     which rows a batch writes, store/internal/ledgertx runs that decision in a transaction,
//     and the function add_increments (migrations/01003_ledger.sql) is the shorter way of a batch that
//     only adds up.
//   - To seal is to fix rows by a hash, so that a later change shows: those of the audit
//     trail, and the final standings of a board. Secrets, cookies and cursors are encrypted.
//   - A board in one piece has one set of keys in Redis, one in partitions has several.
//
// structure_test.go enforces the floors, that the domain types import no libraries, that
// the stores know no JSON shape, and that this page and docs/architecture.md name every
// folder.
//
// Run waits until the database has a schema that this version supports; meanwhile the
// API answers 503 with the reason. Then it starts the components that observe before
// those that write, and stops them in reverse: it reports not ready, finishes requests,
// closes streams, finishes the relay's batch, commits the projection, and closes the
// backends.
package server
