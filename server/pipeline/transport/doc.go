// Package transport carries events between processes. Its sub-packages kafka and
// streams (Redis Streams) are implementations. This package holds Direct, which is
// the one within a process, and what all share: the messages, the two
// interfaces, the publishers that encode domain values into messages, and
// Switch, which changes the transport at run time.
//
// Promise: Produce reports how many messages from the front are safe: with
// Kafka they are acknowledged as configured (by all replicas, unless
// kafka.acks=one), with Redis Streams they are as durable as Redis itself, and
// the direct transport acknowledges a message once it is handled. A consumer
// commits records only after the handler has returned, so each record is
// delivered at least once. Records of a paused partition are not committed,
// and not delivered again to the same consumer. MeasureLag counts what a group
// has not consumed, no matter which process reads for it.
//
// Assumption: handlers are idempotent. Records with the same key keep their
// order, except after a failed batch, part of which may be produced twice.
//
// Owner: the caller of New closes a client and runs Consume and Switch.Run.
//
// On failure: Produce returns the error, with the code payload_too_large where
// a retry cannot succeed. Consume closes its reader and returns the error; its
// caller starts it again from the committed offsets. A Kafka reader that stalls
// while it has a lag is stopped in the same manner. If a topic's log was cut or
// replaced, so that committed offsets belong to records that are gone, the Kafka
// consumer moves its group back, counts what is lost, and reports it.
package transport
