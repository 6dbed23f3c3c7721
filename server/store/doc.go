// Package store is PostgreSQL, the source of truth: users, scores, the ledger of
// every event, the outbox, boards and keys. It opens one pool, shared by one type
// per aggregate, whose packages hold the SQL. No pgx type leaves it.
//
// Promise: one exported method is one transaction. A recorded event is in the
// ledger once per board, its user's versions on a board are 1, 2, 3 without a
// gap, the score is the last row's, and a change has its outbox row.
//
// Assumption: every writer locks the users rows it needs first, in byte order,
// and only then searches for known events; PostgreSQL's clock decides all times.
// Every statement of the write path finds rows by unnest and one index probe per
// row, because plans made while tables are small are kept when they are large.
//
// On failure: errors that a caller may branch on are scoreboard.Errors;
// unavailable means that the batch may or may not have been written and can be
// submitted again.
package store
