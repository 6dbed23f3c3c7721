// Package ingest records increments. It answers an increment only after the
// transaction that holds it has committed.
//
// Promise: group commit. An increment enters the lane of its user. While one
// transaction of a lane is in flight the next batch gathers: a lone request
// never waits for others, and a busy lane commits hundreds at once. Increments
// of one user keep their order. One that cannot be stored does not fail the rest
// of its batch: the batch is split. Increments of a user whom another
// transaction has locked move to a queue of their own, and the lane goes on.
//
// Assumption: the ledger recognises repeats, so a batch may be recorded again.
//
// Owner: Run owns the lanes. When it returns, every call has been answered.
//
// On failure: each caller gets the error of its own increment. A full lane
// returns overloaded at once.
//
// Acceptor and Intake are the asynchronous path: the first answers an increment
// once it is in the queue, Kafka or Redis Streams, the second records it from there. Every accepted event comes
// to an outcome: recorded, rejected, or, if it fails again and again although the
// database answers, rejected as internal and kept in the dead letters.
package ingest
