// Package ledger decides, without a database, how a batch of increments is
// recorded: which events are repeats, which boards they count on, whether bounds,
// modes, action rules and anomaly detection accept them, and the resulting rows
// and receipts. Package store reads what a Batch requests under the users' locks,
// calls Decide or one of the corrections, and writes the Rows.
//
// Promise: items are decided in order, so a user's later item builds on the
// earlier ones; an item is recorded on all of its boards or on none; a repeat gets
// its original receipts even if the rules have changed since.
//
// Assumption: everything added to a Batch was read in one transaction under the
// locks of its users, and nothing else writes to them before the commit.
package ledger
