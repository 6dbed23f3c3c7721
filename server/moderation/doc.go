// Package moderation works off what operators have begun and what is due:
// voids, erasures, the retention of addresses.
//
// Promise: a void ends, whoever dies meanwhile; each of its transactions is
// short, for others wait for its users.
//
// Assumption: the store hands a job to one node at a time, by a lease.
//
// Owner: Run, on every node with the role maintenance.
//
// On failure: what is not done is tried again by whoever is next.
package moderation
