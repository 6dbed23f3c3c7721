// Package archive moves old partitions of the ledger into files.
//
// Promise: a partition leaves the database only after its archive is written
// durably, read back and found to hold every row. Each step can be
// interrupted anywhere and is done again, or found done, by the next look.
//
// An archive is three files, in this order of their coming:
//
//	user_score_histories_20260101.ndjson.zst         a row a line, columns by name, zstd
//	user_score_histories_20260101.ndjson.zst.sha256  for sha256sum -c
//	user_score_histories_20260101.json               the manifest: only now it is whole
//
// Assumption: the ledger is insert-only, and rows come with the time of their
// recording. The place, a folder or a bucket of an S3-compatible store, is durable
// and belongs to one process at a time.
//
// Owner: Run looks every hour. The same body serves an operator.
//
// On failure: the partition stays where it is and is tried again.
package archive
