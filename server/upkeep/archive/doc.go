// Package archive moves old partitions of the ledger into files.
//
// Promise: a partition is dropped only after its archive was written durably and
// read back with every row. Each step can be interrupted; the next run repeats or
// skips it.
//
// An archive consists of three files, written in this order:
//
//	user_score_histories_20260101.ndjson.zst         one row per line, columns by name, zstd
//	user_score_histories_20260101.ndjson.zst.sha256  for sha256sum -c
//	user_score_histories_20260101.json               the manifest: the archive is complete
//
// Assumption: the ledger is insert-only, and rows are inserted with the time of
// recording. The storage, a directory or an S3-compatible bucket, is durable. One run at a
// time writes it, by a lease.
//
// Owner: Archive.Run, every hour. The same code serves an operator's request, in any process.
//
// On failure: the partition stays in the database and is retried.
package archive
