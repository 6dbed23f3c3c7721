// Package pg holds what the store's packages share: the pool, the limits of a
// transaction, retries, cursors, the translation of PostgreSQL's errors, and the
// audit entry that is written with a change; and the rows that several of them read and
// change: boards, users, states of scores, receipts.
//
// On failure: Translate converts an outage or a timeout to a scoreboard.Error
// with the code unavailable. The call may or may not have taken effect and can be
// repeated.
package pg
