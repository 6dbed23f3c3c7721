// Package rollover ends the periods of boards and begins the next ones.
//
// Promise: the instance of a period is there before the period begins, and
// ranked. One that has ended is closed, its final standings are copied and
// sealed by a hash, and its end is announced: at least once, always under the
// same event id. Each step is a transaction whose effect the next look finds,
// so it makes no difference when, how often, or how long ago it was
// interrupted.
//
// Assumption: writers pick the instance themselves, by the database's clock;
// nothing here decides where an increment counts. Closing waits for the grace
// in which what was accepted earlier is still recorded.
//
// Owner: one process at a time looks, under a lease; the others would only do
// the same twice, harmlessly. An operator's roll is the same body.
//
// On failure: the next look goes on.
package rollover
