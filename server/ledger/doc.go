// Package ledger decides what a batch of increments comes to, without a
// database: which event is a repeat, which board it lands on, what the bounds,
// modes, action rules and anomaly detection make of it, and which rows and
// receipts follow. Package store reads what a Batch asks for under the users'
// locks, calls Decide or one of the corrections, and writes the Rows.
//
// Promise: items are decided in order, so a later item of a user builds on an
// earlier one; an item is recorded on all of its boards or on none; a repeat is
// answered with its original receipts whatever the rules have become since.
//
// Assumption: everything added to a Batch was read in one transaction under the
// locks of its users, and nothing else writes to them before the commit.
package ledger
