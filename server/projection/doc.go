// Package projection carries changes from the transport into the ranking.
//
// Promise: a record counts as consumed only after it is applied or in the dead
// letters with its reason. What is malformed does not hold up what follows;
// what a later build has written does, until that build reads it.
//
// Assumption: Apply compares revisions, so applying again does nothing, and
// several sources may be read at once.
//
// On failure: while the ranking is away it waits with backoff and keeps its
// records; the transport keeps the rest.
package projection
