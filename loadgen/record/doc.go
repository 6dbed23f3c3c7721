// Package record keeps the raw results of a run in one compressed file, from
// which reports are made as often as wanted.
//
// A file is a stream of entries under zstd: a header first, then hits, samples
// and ticks as they came, and an ending. Without an ending the run died, and
// the reader says so: what is there can still be reported.
package record
