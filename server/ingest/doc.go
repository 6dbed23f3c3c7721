// Package ingest decides what "accepted" means: an increment is answered after
// the transaction that holds it has committed.
//
// Promise: group commit. An increment goes into the lane of its user; while
// one transaction of the lane is in flight the next batch gathers, so that a
// lone request waits for nobody and a busy lane commits hundreds at once. The
// increments of one user keep their order. One that cannot be stored never
// takes its neighbours down: the batch splits. A user whom another transaction
// holds locked is set aside and tried alone; the lane goes on.
//
// Assumption: the ledger recognises repeats, so a batch may be run again.
//
// Owner: Run owns the lanes. After it has ended every call has been answered.
//
// On failure: callers get the error of their own increment. A full lane is
// overloaded, at once.
package ingest
