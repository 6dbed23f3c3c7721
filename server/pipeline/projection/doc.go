// Package projection applies changes from the transport to the ranking.
//
// Promise: a record is committed only after it is applied, or stored in the dead
// letters with a reason. A malformed record does not delay those after it. An
// event with a newer schema pauses its partition until a build that reads it
// takes over.
//
// Assumption: Apply compares revisions, so applying a change twice has no
// effect, and several sources may be consumed at once.
//
// Owner: Run owns the consumers of all sources.
//
// On failure: while the ranking is unavailable the projection retries with
// backoff. It keeps the records at hand, and the transport keeps the others.
package projection
