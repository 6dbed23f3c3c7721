package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Log is a topic as it is kept, to be read again from anywhere, beside the
// groups that consume it.
type Log struct {
	kafka *Kafka
	topic string
}

// Log opens a topic.
func (k *Kafka) Log(topic string) *Log { return &Log{k, topic} }

// Spans says what each partition holds, in their order.
func (l *Log) Spans(ctx context.Context) ([]scoreboard.Extent, error) {
	ends, err := l.kafka.ends(ctx, l.topic)
	if err != nil {
		return nil, err
	}
	spans := make([]scoreboard.Extent, 0, len(ends))
	for partition, at := range ends {
		spans = append(spans, scoreboard.Extent{Partition: partition, First: at.first, End: at.end, Forgot: at.first > 0})
	}
	slices.SortFunc(spans, func(a, b scoreboard.Extent) int { return a.Partition - b.Partition })
	return spans, nil
}

// At returns the offset of the first record of a partition that was produced
// at a time or later, or the end where there is none.
func (l *Log) At(ctx context.Context, span scoreboard.Extent, at time.Time) (int64, error) {
	found, err := l.kafka.client.ListOffsets(ctx, &kafka.ListOffsetsRequest{
		Topics: map[string][]kafka.OffsetRequest{l.topic: {kafka.TimeOffsetOf(span.Partition, at)}},
	})
	if err != nil {
		return 0, fmt.Errorf("look for %s in partition %d of %s: %w", at, span.Partition, l.topic, err)
	}
	for _, p := range found.Topics[l.topic] {
		if p.Error != nil {
			return 0, fmt.Errorf("look for %s in partition %d of %s: %w", at, span.Partition, l.topic, p.Error)
		}
		for offset := range p.Offsets {
			if offset >= 0 { // -1 is none
				return min(max(offset, span.First), span.End), nil
			}
		}
	}
	return span.End, nil
}

// What one read hands over at once, and how long it waits for a record that
// must be there.
const (
	logBatch    = 1000
	logPatience = 15 * time.Second
)

// Read hands over the records of a span, in their order and in pieces.
func (l *Log) Read(ctx context.Context, span scoreboard.Extent, do func([]Record) error) error {
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: l.kafka.o.Brokers, Topic: l.topic, Partition: span.Partition, Dialer: l.kafka.dialer(),
		MinBytes: 1, MaxBytes: 4 << 20, MaxWait: 250 * time.Millisecond, QueueCapacity: 2 * logBatch, MaxAttempts: 3,
		ReadBackoffMin: 10 * time.Millisecond, ReadBackoffMax: 250 * time.Millisecond, OffsetOutOfRangeError: true,
	})
	defer func() { _ = r.Close() }() // only read
	if err := r.SetOffset(span.First); err != nil {
		return fmt.Errorf("read partition %d of %s: %w", span.Partition, l.topic, err)
	}
	batch := make([]Record, 0, logBatch)
	for next := span.First; next < span.End; {
		waiting, cancel := context.WithTimeout(ctx, logPatience)
		m, err := r.FetchMessage(waiting)
		cancel()
		if errors.Is(err, kafka.OffsetOutOfRange) {
			return scoreboard.Errorf(scoreboard.CodeGone, "partition %d of %s has forgotten offset %d meanwhile", span.Partition, l.topic, next)
		}
		if err != nil {
			return fmt.Errorf("read offset %d of partition %d of %s: %w", next, span.Partition, l.topic, err)
		}
		if next = m.Offset + 1; m.Offset < span.End {
			batch = append(batch, Record{Partition: m.Partition, Offset: m.Offset, Key: m.Key, Value: m.Value, Time: m.Time})
		}
		if len(batch) == logBatch || next >= span.End {
			if err := do(batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return nil
}
