// Package verify compares a server with the outcomes of a run after the load:
// every acknowledged event is recorded once, no rejected event is recorded, and
// scores and ranks are what the outcomes add up to.
//
// What could not be found out is missing from the measurements, so that its
// criterion fails.
//
// A Tracker keeps the outcome of each event of a run, in one byte per event, and the
// scores that users must have as a result.
package verify
