// Package repair makes the ranking true again: it rebuilds boards from the
// store beside live traffic, watches for boards that Redis has lost or may have,
// and compares ledger, scores and ranking, once or all the time.
//
// Promise: a rebuild marks a shadow first, which the projection writes from
// then on beside the live board; then it fills the shadow from a snapshot of
// the store. Every change is in one of the two, and the newer revision wins.
// Then the shadow takes the place of the board in one step, under a new epoch.
//
// Where PostgreSQL has gone back in time, what was published of the lost future
// has greater revisions than the truth. Then every board is overwritten: it is
// rebuilt behind a fence that keeps out whatever was recorded before the
// history was adopted. Another database than before a person must mean.
//
// A replay reads what the transport still holds beside whoever consumes it, and
// applies what the ranking does not have.
//
// On failure: the shadow expires and the keeper tries again; a replay may be
// repeated.
package repair
