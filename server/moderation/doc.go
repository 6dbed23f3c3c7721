// Package moderation runs the background work of moderation: voids, erasures
// and the retention of addresses.
//
// Promise: a void completes even if the node that runs it dies. Its
// transactions are short, because they lock users. No failure of an event delays the
// void's other events, and no void delays another.
//
// Assumption: the store gives a job to one node at a time, by a lease.
//
// Owner: Worker.Run, on every node with the role maintenance.
//
// On failure: the next node that claims the job continues it.
package moderation
