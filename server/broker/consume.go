package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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

// Handler takes records, in the order of each partition. Where it holds a
// partition, it names the first offset that it left: nothing from there on is
// counted as consumed, nor handed over again before the consumer is made anew.
type Handler func(ctx context.Context, records []Record) (held map[int]int64, err error)

// Consumer reads one topic as a member of a group.
type Consumer struct {
	kafka *Kafka
	topic string
	group string
	batch int
	watch time.Duration
	log   *slog.Logger

	lag     prometheus.Gauge
	rebuilt prometheus.Counter
}

// watchEvery is how often a consumer to whom nothing comes asks whether there
// should. The relay's heartbeats come each second.
const watchEvery = 10 * time.Second

// Consumer makes a consumer that hands over at most batch records at once.
func (k *Kafka) Consumer(topic, group string, batch int, log *slog.Logger) *Consumer {
	of := prometheus.Labels{"topic": topic}
	return &Consumer{
		kafka: k, topic: topic, group: group, batch: batch, watch: watchEvery, log: log,
		lag: newLag(topic),
		rebuilt: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_broker_stalls_total", Help: "Times that a reader stood still before a lag and was made anew.", ConstLabels: of,
		}),
	}
}

func newLag(topic string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "scoreboard_broker_lag_records", Help: "Records of the topic that the group has not consumed.",
		ConstLabels: prometheus.Labels{"topic": topic},
	})
}

// Collectors are what the root registers.
func (c *Consumer) Collectors() []prometheus.Collector {
	return []prometheus.Collector{c.lag, c.rebuilt}
}

// Consume calls handle with records as they come, and commits them after it
// returned. It returns nil when ctx ends, else the first error.
func (c *Consumer) Consume(ctx context.Context, handle Handler) error {
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
	fetchCtx, stop := context.WithCancelCause(ctx)
	f := &fetcher{reader: r, to: make(chan kafka.Message, c.batch)}
	failed := make(chan error, 2)
	go func() {
		failed <- f.run(fetchCtx)
		close(f.to)
	}()
	go func() { failed <- c.guard(fetchCtx, f, stop) }()
	err := c.handleAll(ctx, r, f.to, handle)
	stop(context.Canceled)
	for range f.to { // let the fetcher see that it is over
	}
	err = errors.Join(err, <-failed, <-failed)
	if closeErr := r.Close(); closeErr != nil {
		c.log.Warn("reader closed badly", "topic", c.topic, "err", closeErr)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// fetcher moves messages into a channel, so that a batch is whatever has come
// while the one before was handled.
type fetcher struct {
	reader  *kafka.Reader
	to      chan kafka.Message
	fetched atomic.Int64
	idle    atomic.Bool // waiting for the reader, not for the handler
}

func (f *fetcher) run(ctx context.Context) error {
	for {
		f.idle.Store(true)
		m, err := f.reader.FetchMessage(ctx)
		f.idle.Store(false)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("fetch: %w", err)
		}
		f.fetched.Add(1)
		select {
		case f.to <- m:
		case <-ctx.Done():
			return nil
		}
	}
}

// handleAll hands over batches and commits them.
func (c *Consumer) handleAll(ctx context.Context, r *kafka.Reader, from <-chan kafka.Message, handle Handler) error {
	held := make(map[int]int64)
	records := make([]Record, 0, c.batch)
	messages := make([]kafka.Message, 0, c.batch)
	for {
		records, messages = records[:0], messages[:0]
		m, ok := <-from
		for ok {
			if first, is := held[m.Partition]; !is || m.Offset < first {
				records = append(records, Record{Partition: m.Partition, Offset: m.Offset, Key: m.Key, Value: m.Value, Time: m.Time})
				messages = append(messages, m)
			}
			if len(records) == c.batch {
				break
			}
			select {
			case m, ok = <-from:
				continue
			default:
			}
			break
		}
		if len(records) == 0 {
			if !ok {
				return nil
			}
			continue
		}
		left, err := handle(ctx, records)
		if err != nil {
			return fmt.Errorf("handle %d records of %s: %w", len(records), c.topic, err)
		}
		for partition, first := range left {
			held[partition] = first
			c.log.Error("partition held", "topic", c.topic, "partition", partition, "offset", first)
		}
		done := messages[:0]
		for _, m := range messages {
			if first, is := held[m.Partition]; !is || m.Offset < first {
				done = append(done, m)
			}
		}
		if err := r.CommitMessages(ctx, done...); err != nil {
			return fmt.Errorf("commit %d records of %s: %w", len(done), c.topic, err)
		}
	}
}
