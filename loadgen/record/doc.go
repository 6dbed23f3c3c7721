// Package record stores the raw results of a run in one compressed file, from
// which reports can be made later.
//
// A file is a zstd-compressed stream of entries: a header, then hits, samples and
// ticks in the order of their arrival, and an ending. A file without an ending is
// of a run that crashed; its entries can still be read.
package record
