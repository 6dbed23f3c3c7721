// Package mirror writes changes in the formats of other specifications, for consumers
// that were written for those (docs/feeds.md).
//
// Promise: every change of the transports reaches every feed, at least once, and each
// user's last one with the greatest version. A consumer that keeps the greatest version
// of each key counts nothing twice, whatever restarts and whatever is consumed again.
// The stream of specification C has no versions, so the mirror keeps them: an entry is
// added once, and never after a newer one of its user.
//
// A feed may begin with a snapshot of the scores from before its first start (Snapshot).
//
// Assumption: a source commits records only after its handler has returned, and every
// feed consumes in a group of its own. Malformed records are left to the projection,
// which stores them in the dead letters.
//
// Owner: Run owns the consumers. Mirrors on several nodes share the partitions.
//
// On failure: a feed whose backend is unavailable keeps its records at hand, retries with
// backoff and commits nothing; the transport keeps the others, for as long as its
// retention. Other feeds continue. An event with a newer schema pauses its partition.
package mirror
