// Package broker carries events between processes: Kafka behind a small
// produce and consume pair, so that partitions, offsets and kafka-go stay in
// here.
//
// Promise: Produce tells how many messages from the front were acknowledged by
// all replicas. Consume commits what it handed over only after the handler
// returned nil, so a record is handed over at least once.
//
// Assumption: handlers are idempotent. The order of the records of one key is
// kept, but for what follows a failed batch.
//
// On failure: Produce returns the error; Consume returns it after closing its
// reader, and whoever runs it starts it again from the committed offsets.
package broker
