// Package pg is what every part of the store shares: the pool, the limits of a
// transaction, retries, cursors, the translation of PostgreSQL's errors, and the
// audit entry that is written with a change.
//
// On failure: Translate turns an outage or a time-out into a scoreboard.Error
// with the code unavailable. It means that nothing is known to be written and
// that the same call may be repeated.
package pg
