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
// have higher revisions than the store. Every board is then rebuilt behind a
// fence that drops whatever was recorded before the history was adopted. A
// different database is adopted only when an operator asks for it.
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
