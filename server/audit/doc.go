// Package audit seals the audit trail.
//
// Promise: a committed row gets its seal within a second, unless a transaction that is
// older than the row is still running in PostgreSQL. The head of the chain is logged
// whenever it has moved, so that logs kept elsewhere prove what was in the trail.
//
// Assumption: the store seals one batch at a time. The lease only keeps idle processes
// from asking; two owners at once cost a wait for a lock and cannot fork the chain.
//
// Owner: Run works until its context ends, and releases the lease.
//
// On failure: a run that fails is repeated. Rows wait unsealed meanwhile, which
// "sbctl audit verify" and "sbctl doctor" show.
package audit
