package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Log is the retained content of a topic. It is read from any offset,
// independently of the groups that consume the topic.
type Log struct {
	client *Client
	topic  string
}

// Log opens a topic.
func (c *Client) Log(topic string) *Log { return &Log{c, topic} }

// Ranges returns what each partition holds, ordered by partition.
func (l *Log) Ranges(ctx context.Context) ([]scoreboard.OffsetRange, error) {
	ends, err := l.client.ends(ctx, l.topic)
	if err != nil {
		return nil, err
	}
	spans := make([]scoreboard.OffsetRange, 0, len(ends))
	for partition, at := range ends {
		spans = append(spans, scoreboard.OffsetRange{
			Partition: partition, First: at.first, End: at.end, Trimmed: at.first > 0,
		})
	}
	slices.SortFunc(spans, func(a, b scoreboard.OffsetRange) int { return a.Partition - b.Partition })
	return spans, nil
}

// OffsetAt returns the offset of the first record of a partition that was produced at
// a time or later, or the end of the span if there is none.
func (l *Log) OffsetAt(ctx context.Context, span scoreboard.OffsetRange, at time.Time) (int64, error) {
	fail := func(err error) (int64, error) {
		return 0, fmt.Errorf("find the offset at %s in partition %d of %s: %w", at, span.Partition, l.topic, err)
	}
	found, err := l.client.api.ListOffsets(ctx, &kafkago.ListOffsetsRequest{
		Topics: map[string][]kafkago.OffsetRequest{l.topic: {kafkago.TimeOffsetOf(span.Partition, at)}},
	})
	if err != nil {
		return fail(err)
	}
	for _, p := range found.Topics[l.topic] {
		if p.Error != nil {
			return fail(p.Error)
		}
		for offset := range p.Offsets {
			if offset >= 0 { // -1: none
				return min(max(offset, span.First), span.End), nil
			}
		}
	}
	return span.End, nil
}

const (
	logBatch       = 1000             // records in one call of do
	logReadTimeout = 15 * time.Second // for the next record, which must exist
)

// Read calls do with the records of a span, in order and in batches. The error
// has the code gone if the broker deletes records of the span meanwhile.
func (l *Log) Read(ctx context.Context, span scoreboard.OffsetRange, do func([]scoreboard.Record) error) error {
	if span.First >= span.End {
		return nil
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	patience := time.AfterFunc(logReadTimeout, func() { end(context.DeadlineExceeded) })
	defer patience.Stop()
	next := cursor{span.First, unknownEpoch}
	f := &fetcher{client: l.client, topic: l.topic, next: map[int]*cursor{span.Partition: &next}}
	f.take = func(_ context.Context, records []scoreboard.Record) error {
		patience.Stop()
		last := records[len(records)-1].Offset
		for len(records) > 0 && records[len(records)-1].Offset >= span.End {
			records = records[:len(records)-1]
		}
		for batch := range slices.Chunk(records, logBatch) {
			if err := do(batch); err != nil {
				end(err)
				return err
			}
		}
		if last+1 >= span.End {
			end(errSpanRead)
		}
		patience.Reset(logReadTimeout)
		return nil
	}
	err := f.run(ctx)
	switch cause := context.Cause(ctx); {
	case errors.Is(err, kafkago.OffsetOutOfRange):
		return scoreboard.Errorf(wire.CodeGone,
			"offset %d of partition %d of %s is no longer retained", next.offset, span.Partition, l.topic)
	case errors.Is(err, errCut):
		return fmt.Errorf("read partition %d of %s: %w", span.Partition, l.topic, err)
	case errors.Is(cause, errSpanRead):
		return nil
	case errors.Is(cause, context.DeadlineExceeded):
		return fmt.Errorf("read offset %d of partition %d of %s: %w", next.offset, span.Partition, l.topic, cause)
	default:
		return cause
	}
}

var errSpanRead = errors.New("the span is read")
