// Package leaderboard answers reads: from the ranking while it is healthy, else
// from the store, and says which. A list and a user's own rank come from the
// same source.
//
// Promise. The top of a board is cached on each node. A notice of a change
// replaces the cached top where it carries everything, and invalidates it
// otherwise; without notices it expires after a quarter of a second, so a lost
// notice delays a change no longer than that. A user within the top is placed
// from it. Other standings are cached for a moment (the setting
// reads.user_cache). Concurrent identical reads share one answer. An answer is
// immutable once returned.
//
// Assumption. Notify is called with each notice soon after its batch can be
// read.
//
// On failure. An answer from the store is marked degraded with the reason. The
// store gets a few queries at a time, and none for a pause after failures. While
// neither answers, the last known top is served with its age; everything else
// is unavailable.
package leaderboard
