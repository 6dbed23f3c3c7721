package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/segmentio/kafka-go"
)

// Record is what is consumed.
type Record struct {
	Partition int
	Offset    int64
	Key       []byte
	Value     []byte
	Time      time.Time
}

// Consumer reads one topic as a member of a group.
type Consumer struct {
	kafka *Kafka
	topic string
	group string
	batch int
	log   *slog.Logger
}

// Consumer makes a consumer that hands over at most batch records at once.
func (k *Kafka) Consumer(topic, group string, batch int, log *slog.Logger) *Consumer {
	return &Consumer{kafka: k, topic: topic, group: group, batch: batch, log: log}
}

// Consume calls handle with records as they come, and commits them after it
// returned nil. It returns nil when ctx ends, else the first error.
func (c *Consumer) Consume(ctx context.Context, handle func(context.Context, []Record) error) error {
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: c.kafka.o.Brokers, Topic: c.topic, GroupID: c.group, Dialer: c.kafka.dialer(),
		// A fetch is answered with whatever is there, at once; an idle one
		// waits. The relay's batches, not the fetches, set the pace.
		MinBytes: 1, MaxBytes: 4 << 20, MaxWait: 2 * time.Second,
		QueueCapacity:  4 * c.batch,
		CommitInterval: 250 * time.Millisecond, // what is lost of it is handed over again
		StartOffset:    kafka.FirstOffset, WatchPartitionChanges: true, PartitionWatchInterval: 5 * time.Second,
		SessionTimeout: 10 * time.Second, RebalanceTimeout: 10 * time.Second, HeartbeatInterval: 2 * time.Second,
		MaxAttempts: 3, JoinGroupBackoff: 500 * time.Millisecond,
	})
	fetchCtx, stop := context.WithCancel(ctx)
	fetched := make(chan kafka.Message, c.batch)
	failed := make(chan error, 1)
	go func() {
		failed <- fetch(fetchCtx, r, fetched)
		close(fetched)
	}()
	err := c.handleAll(ctx, r, fetched, handle)
	stop()
	for range fetched { // let the fetcher see that it is over
	}
	if fetchErr := <-failed; err == nil {
		err = fetchErr
	}
	if closeErr := r.Close(); closeErr != nil {
		c.log.Warn("reader closed badly", "topic", c.topic, "err", closeErr)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// fetch moves messages into a channel, so that a batch is whatever has come
// while the one before was handled.
func fetch(ctx context.Context, r *kafka.Reader, to chan<- kafka.Message) error {
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return fmt.Errorf("fetch: %w", err)
		}
		select {
		case to <- m:
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *Consumer) handleAll(ctx context.Context, r *kafka.Reader, from <-chan kafka.Message, handle func(context.Context, []Record) error) error {
	records := make([]Record, 0, c.batch)
	messages := make([]kafka.Message, 0, c.batch)
	for {
		m, ok := <-from
		if !ok {
			return nil
		}
		records, messages = records[:0], messages[:0]
	gather:
		for {
			records = append(records, Record{Partition: m.Partition, Offset: m.Offset, Key: m.Key, Value: m.Value, Time: m.Time})
			messages = append(messages, m)
			if len(records) == c.batch {
				break
			}
			select {
			case m, ok = <-from:
				if !ok {
					break gather
				}
			default:
				break gather
			}
		}
		if err := handle(ctx, records); err != nil {
			return fmt.Errorf("handle %d records of %s: %w", len(records), c.topic, err)
		}
		if err := r.CommitMessages(ctx, messages...); err != nil {
			return fmt.Errorf("commit %d records of %s: %w", len(records), c.topic, err)
		}
	}
}
