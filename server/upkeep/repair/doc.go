// Package repair keeps the ranking in Redis consistent with PostgreSQL: it
// rebuilds boards beside live traffic, detects boards that Redis has lost, and
// compares ledger, scores and ranking.
//
// Promise: a rebuild first creates a shadow board, which the projection writes
// alongside the live board, then fills the shadow from a snapshot of the store.
// Every change is in the snapshot or in the live stream, and the newer revision
// wins. The shadow then replaces the board in one step, under a new epoch.
//
// If PostgreSQL went back in time, changes that were published and then lost
// have higher revisions than the store. One process, by a lease, then adopts the
// history that it finds, with an entry in the audit log, and rebuilds every board
// behind a fence that drops whatever was recorded before the adoption. Until then
// reads of those boards are answered by the store. A rebuild takes its snapshot only
// once every transaction older than the adoption has ended, so that the fence drops
// nothing that was committed. A different database is adopted only when an operator
// asks for it.
//
// Epochs never go back, neither for a board nor for a client that saw one before
// PostgreSQL and Redis were restored: the store takes them from a sequence that
// follows the clock.
//
// A replay reads what the transport retains, without a consumer group, and
// applies only what is newer than the ranking.
//
// Owner: Rebuilder.Run, Sampler.Run and Pass.Run, on nodes with the role
// maintenance.
//
// On failure: the shadow expires and the rebuilder retries; a replay can be
// repeated.
package repair
