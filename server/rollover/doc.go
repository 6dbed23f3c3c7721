// Package rollover ends the periods of boards and begins the next ones.
//
// Promise: the instance of a period exists, ranked, before the period begins.
// When a period has ended, its board is closed, its final standings are copied
// and sealed with a hash, and the end is announced at least once, always with
// the same event id. Each step is a transaction that the next run detects, so an
// interruption at any point is harmless.
//
// Assumption: writers pick the instance by the database's clock; this package
// does not decide where an increment counts. Closing waits for the grace period
// in which increments accepted earlier are still recorded.
//
// Owner: Rollover.Run. One process works at a time, under a lease; two would only
// repeat the same steps. An operator's roll runs the same code.
//
// On failure: the next run continues.
package rollover
