// Package corrections changes what is already recorded: adjustments by an
// operator, reversals of single events, and voids, which reverse all events from
// one key or address.
//
// Promise: a correction is an event of its own in the ledger, with the source
// admin, and a repeat is a replay. Ids of corrections are apart from those that
// clients choose, so no client can take one.
//
// On failure: an event of a void that cannot be corrected waits or is skipped, with
// its reason, and the void continues without it. A void that fails as a whole waits,
// longer each time, and others continue without it.
//
// Imports writes the scores of other systems.
//
// Promise: an imported score is in the ledger like any other, as an event with the source
// admin and the action import. What an import has written for each user is stored with the
// ledger rows, in the same transaction, and it writes the difference to that. So an import
// can be interrupted and repeated at any time, also after the window in which repeats are
// recognised, and two at once write nothing twice.
//
// Assumption: the users' rows are locked before what was written is read.
//
// Moderation changes the status of users and keeps the flags of anomalies for review.
package corrections
