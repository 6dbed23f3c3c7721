// Package operations stores what operators and background work keep beside the scores.
//
// Archive lists, reads, detaches and drops old partitions of the ledger.
//
// AuditLog stores the audit log: each change with its operator, time and
// reason. It seals the rows in a chain of hashes, and verifies the chain.
//
// DeadLetters stores events that could not be published or applied.
//
// Jobs stores the long operations of all nodes, with their progress and results.
//
// Keys stores clients' signing keys and their encrypted secrets.
//
// Leases assigns work to one process at a time. A lease ends by itself, so a process that
// dies holds up nothing for long.
//
// Settings stores the settings that operators change at run time, and
// which transports each process supports.
//
// Webhooks stores webhooks with their encrypted secrets, the outbox of their
// messages, and the deliveries.
package operations
