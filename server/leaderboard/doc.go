// Package leaderboard answers reads: from the ranking when it is healthy, else
// from the store, and says which. List and own rank come from the same place.
//
// Promise: the head of a board is kept in this node's memory. A notice that it
// changed makes it stale at once, and without notices it is read again after a
// quarter of a second, so that a lost notice costs no more. A user within it is
// placed from it. Other standings are told again for a moment (the setting
// reads.user_cache). Who asks for the same at the same time shares one answer.
// An answer that was handed out is never changed.
//
// Assumption: Notify is told of what was applied, soon after it can be read.
//
// On failure: an answer from the store is marked degraded with the reason. The
// store gets a few questions at a time, and none for a pause after some failed.
// With both away the last head known is told, with its age; everything else is
// unavailable.
package leaderboard
