// Package broker carries events between processes: Kafka, Redis Streams, or
// nothing at all, behind one small produce and consume pair, so that
// partitions, offsets and kafka-go stay in here.
//
// Promise: Produce tells how many messages from the front are safe: with Kafka
// on all replicas, with Streams as safe as Redis keeps them, directly when
// they are handled. Consume counts what it handed over as consumed only after
// the handler returned, so a record is handed over at least once; what a
// handler holds is not counted, and not handed over again to the same reader.
// Behind is how much a group has not consumed, whoever reads for it.
//
// Assumption: handlers are idempotent. The order of the records of one key is
// kept, but for what follows a failed batch.
//
// On failure: Produce returns the error, payload_too_large where trying again
// is in vain; a reader that stands still before a lag is ended. Consume returns it after closing its
// reader, and whoever runs it starts it again from the committed offsets.
package broker
