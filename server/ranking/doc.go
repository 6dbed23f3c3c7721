// Package ranking is Redis: a sorted set for each board that can be thrown
// away and rebuilt from the store, and the notices that tell gateways when a
// board moved.
//
// Promise: a change is applied only if its revision is newer than what is
// there, so duplicates, inversions and replays do nothing. The version of a
// board rises exactly when membership, order or a score in its top 100
// changed, in the same script that made the change; the stored head and the
// sorted set therefore never disagree. Equal scores rank by who reached them
// first, then by user id, exactly as PostgreSQL orders them.
//
// Assumption: Redis may lie. Nothing creates a board but a rebuild, so a
// flushed Redis is cold, which every call says, instead of quietly empty.
//
// On failure: scoreboard.ErrNotLoaded where a board is not there; other errors are the
// connection's.
package ranking
