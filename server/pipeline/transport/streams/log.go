package streams

import (
	"context"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Log is the retained content of the streams. It is read from any offset,
// independently of the groups.
type Log struct{ transport *Transport }

// Log opens the streams.
func (t *Transport) Log() *Log { return &Log{t} }

// Ranges returns what each stream holds, ordered by shard.
func (l *Log) Ranges(ctx context.Context) ([]scoreboard.OffsetRange, error) {
	spans := make([]scoreboard.OffsetRange, l.transport.o.Shards)
	rdb := l.transport.rdb
	for shard := range spans {
		stream := l.transport.stream(shard)
		first, err := rdb.XRangeN(ctx, stream, "-", "+", 1).Result()
		if err != nil {
			return nil, fmt.Errorf("read the first entry of %s: %w", stream, err)
		}
		last, err := rdb.XRevRangeN(ctx, stream, "+", "-", 1).Result()
		if err != nil {
			return nil, fmt.Errorf("read the last entry of %s: %w", stream, err)
		}
		spans[shard].Partition = shard
		if len(first) == 0 || len(last) == 0 {
			continue
		}
		info, err := rdb.XInfoStream(ctx, stream).Result()
		if err != nil {
			return nil, fmt.Errorf("read the entry counts of %s: %w", stream, err)
		}
		spans[shard].First, spans[shard].End = offsetOf(first[0].ID), offsetOf(last[0].ID)+1
		spans[shard].Trimmed = info.EntriesAdded > info.Length
	}
	return spans, nil
}

// OffsetAt returns the offset from which entries are of a time or later: ids start
// with the time.
func (l *Log) OffsetAt(_ context.Context, span scoreboard.OffsetRange, at time.Time) (int64, error) {
	return min(max(at.UnixMilli()<<20, span.First), span.End), nil
}

const logBatch = 1000 // entries in one call of do

// Read calls do with the entries of a span, in order and in batches.
func (l *Log) Read(ctx context.Context, span scoreboard.OffsetRange, do func([]scoreboard.Record) error) error {
	stream := l.transport.stream(span.Partition)
	for next := span.First; next < span.End; {
		entries, err := l.transport.rdb.XRangeN(ctx, stream, idOf(next), idOf(span.End-1), logBatch).Result()
		if err != nil {
			return fmt.Errorf("read %s: %w", stream, err)
		}
		if len(entries) == 0 {
			return nil // trimmed meanwhile
		}
		records := make([]scoreboard.Record, len(entries))
		for i, e := range entries {
			records[i] = l.transport.recordOf(span.Partition, e)
		}
		if err := do(records); err != nil {
			return err
		}
		next = records[len(records)-1].Offset + 1
	}
	return nil
}
