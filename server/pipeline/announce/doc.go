// Package announce carries notices from the ranking to a topic, for programs
// that follow boards without a connection to Redis (specification E).
//
// Promise: each board gets at most one notice in an interval, unless the members
// of its top ten change. A notice holds the whole top and every user who moved
// since the previous one, so the last notice of a board is all that a new
// follower needs.
//
// Assumption: the ranking's notices can be lost while Redis is unavailable.
// Every board is therefore read at intervals, and announced again before the
// topic deletes its last notice.
//
// Owner: one announcer in the cluster, by a lease in Redis.
//
// On failure: notices that could not be published are kept, merged with later
// ones, and retried. Two announcers at once do no harm: followers compare
// versions.
package announce
