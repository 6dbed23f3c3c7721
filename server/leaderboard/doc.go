// Package leaderboard answers reads: from the ranking when it is healthy, else
// from the store, and says which. List and own rank come from the same place.
//
// On failure: an answer from the store is marked degraded with the reason;
// with both away, the error is unavailable.
package leaderboard
