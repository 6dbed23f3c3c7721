package broker

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// StreamLog is the streams as they are kept, to be read again from anywhere.
// Offsets pack an entry's id; they have gaps.
type StreamLog struct{ streams *Streams }

// Log opens the streams.
func (s *Streams) Log() *StreamLog { return &StreamLog{s} }

// idOf is offsetOf's inverse.
func idOf(offset int64) string {
	return strconv.FormatInt(offset>>20, 10) + "-" + strconv.FormatInt(offset&(1<<20-1), 10)
}

// Spans says what each stream holds, in their order.
func (l *StreamLog) Spans(ctx context.Context) ([]scoreboard.Extent, error) {
	spans := make([]scoreboard.Extent, l.streams.o.Shards)
	for shard := range spans {
		stream := l.streams.stream(shard)
		first, err := l.streams.rdb.XRangeN(ctx, stream, "-", "+", 1).Result()
		if err != nil {
			return nil, fmt.Errorf("ask for the first of %s: %w", stream, err)
		}
		last, err := l.streams.rdb.XRevRangeN(ctx, stream, "+", "-", 1).Result()
		if err != nil {
			return nil, fmt.Errorf("ask for the last of %s: %w", stream, err)
		}
		spans[shard].Partition = shard
		if len(first) == 0 || len(last) == 0 {
			continue
		}
		info, err := l.streams.rdb.XInfoStream(ctx, stream).Result()
		if err != nil {
			return nil, fmt.Errorf("look whether %s was trimmed: %w", stream, err)
		}
		spans[shard].First, spans[shard].End = offsetOf(first[0].ID), offsetOf(last[0].ID)+1
		spans[shard].Forgot = info.EntriesAdded > info.Length
	}
	return spans, nil
}

// At returns where entries of a time begin: ids begin with it.
func (l *StreamLog) At(_ context.Context, span scoreboard.Extent, at time.Time) (int64, error) {
	return min(max(at.UnixMilli()<<20, span.First), span.End), nil
}

// Read hands over the entries of a span, in their order and in pieces.
func (l *StreamLog) Read(ctx context.Context, span scoreboard.Extent, do func([]Record) error) error {
	stream := l.streams.stream(span.Partition)
	for next := span.First; next < span.End; {
		entries, err := l.streams.rdb.XRangeN(ctx, stream, idOf(next), idOf(span.End-1), logBatch).Result()
		if err != nil {
			return fmt.Errorf("read %s: %w", stream, err)
		}
		if len(entries) == 0 {
			return nil // trimmed meanwhile
		}
		records := make([]Record, len(entries))
		for i, e := range entries {
			records[i] = recordOf(span.Partition, e)
		}
		if err := do(records); err != nil {
			return err
		}
		next = records[len(records)-1].Offset + 1
	}
	return nil
}
