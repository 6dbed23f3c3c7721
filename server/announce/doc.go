// Package announce carries notices from the ranking to a topic, for whoever
// follows boards without a connection to Redis (specification E).
//
// Promise: for each board at most one notice an interval, unless who is in the
// top ten has changed; each holds the whole head, so the last one of a board is
// all that a newcomer needs, and everybody who moved since the one before.
//
// Assumption: notices of the ranking may be lost while Redis is away; every
// board is therefore looked at now and then, and announced again before the
// topic forgets it.
//
// Owner: one announcer of all, by a lease in Redis.
//
// On failure: what could not be published is kept, merged with what comes, and
// tried again. Two announcers for a moment do no harm: versions tell.
package announce
