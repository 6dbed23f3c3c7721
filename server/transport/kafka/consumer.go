package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	kafkago "github.com/segmentio/kafka-go"

	"github.com/scoreboard/scoreboard/internal/gauge"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/transport"
)

// Consumer reads one topic as a member of a group.
type Consumer struct {
	client     *Client
	topic      string
	group      string
	batch      int
	checkEvery time.Duration // of the stall detector
	log        *slog.Logger

	seen     seenLog                  // used by one session at a time
	id       atomic.Pointer[[16]byte] // of the topic as it was inspected; nil: not yet
	onDamage func(context.Context, *Damage) error

	lag      atomic.Int64
	damages  atomic.Int64
	lost     atomic.Int64
	damaged  atomic.Int64 // when last, in Unix seconds; 0: never
	lagGauge *gauge.Expiring
	stalls   prometheus.Counter
	rewinds  prometheus.Counter
	losses   prometheus.Counter
}

// commitInterval is the time between two commits of a reader.
const commitInterval = 250 * time.Millisecond

// Consumer returns a consumer that delivers at most batch records at once.
func (c *Client) Consumer(topic, group string, batch int, log *slog.Logger) *Consumer {
	labels := prometheus.Labels{"topic": topic, "group": group}
	return &Consumer{
		client: c, topic: topic, group: group, batch: batch, checkEvery: checkInterval, log: log,
		onDamage: func(context.Context, *Damage) error { return nil },
		lagGauge: transport.NewLagGauge(topic, group),
		stalls: prometheus.NewCounter(prometheus.CounterOpts{
			Name:        "scoreboard_broker_stalls_total",
			Help:        "Readers that were replaced because they made no progress despite a lag.",
			ConstLabels: labels,
		}),
		rewinds: prometheus.NewCounter(prometheus.CounterOpts{
			Name:        "scoreboard_broker_log_damages_total",
			Help:        "Times that the topic's log was found cut or replaced, and was read again.",
			ConstLabels: labels,
		}),
		losses: prometheus.NewCounter(prometheus.CounterOpts{
			Name:        "scoreboard_broker_lost_records_total",
			Help:        "Records that the group had not consumed when the log was cut or replaced, as far as known.",
			ConstLabels: labels,
		}),
	}
}

// OnDamage sets a function that is called when the topic's log was found cut or
// replaced, before any record is handled again. After an error it is called again.
// Call OnDamage before Consume.
func (c *Consumer) OnDamage(do func(context.Context, *Damage) error) { c.onDamage = do }

// Collectors returns the metrics, for registration.
func (c *Consumer) Collectors() []prometheus.Collector {
	return []prometheus.Collector{c.lagGauge, c.stalls, c.rewinds, c.losses}
}

// Status returns the lag as last measured.
func (c *Consumer) Status() transport.ConsumerStatus {
	s := transport.ConsumerStatus{
		Topic: c.topic, Lag: c.lag.Load(), Damages: c.damages.Load(), Lost: c.lost.Load(),
	}
	if at := c.damaged.Load(); at != 0 {
		s.Damaged = time.Unix(at, 0)
	}
	return s
}

// sessionRetry is the pause after a session that the broker ended. It does not grow:
// accepted increments wait for the end of the outage.
const sessionRetry = 250 * time.Millisecond

// Consume calls handle with records as they arrive, and commits them after it
// has returned. It returns nil when ctx ends, otherwise the first error of handle or
// a stall. While the broker does not answer, it tries again.
func (c *Consumer) Consume(ctx context.Context, handle transport.Handler) error {
	for failures := 0; ; failures++ {
		began := time.Now()
		err := c.runSession(ctx, handle)
		if ctx.Err() != nil {
			return nil
		}
		if !errors.Is(err, errSession) {
			return err
		}
		if time.Since(began) > time.Minute {
			failures = 0
		}
		if failures%20 == 0 {
			c.log.Warn("consumer interrupted", "topic", c.topic, "failures", failures+1, "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(sessionRetry):
		}
	}
}

// rebalanceTimeout is how long the group waits for members that it knew, after a restart
// of the broker for all of them. A member that lives needs a heartbeat to hear of a
// rebalance, and ends its fetches first.
const rebalanceTimeout = 2500 * time.Millisecond

// inspectTimeout bounds the inspection before a session.
const inspectTimeout = 3 * time.Second

// errSession is in the chain of an error after which a new session is started.
var errSession = errors.New("the session has ended")

// runSession reads as one member of the group.
func (c *Consumer) runSession(ctx context.Context, handle transport.Handler) error {
	r := kafkago.NewReader(kafkago.ReaderConfig{
		Brokers: c.client.o.Brokers, Topic: c.topic, GroupID: c.group, Dialer: c.client.dialer(),
		// A fetch returns what is available at once, and waits if that is nothing:
		// batch sizes follow from the relay's batches, not from the fetches.
		MinBytes: 1, MaxBytes: 4 << 20, MaxWait: time.Second,
		QueueCapacity:  4 * c.batch,
		CommitInterval: commitInterval, // records whose commit is lost are delivered again
		StartOffset:    kafkago.FirstOffset, WatchPartitionChanges: true, PartitionWatchInterval: 5 * time.Second,
		SessionTimeout: 6 * time.Second, RebalanceTimeout: rebalanceTimeout, HeartbeatInterval: 500 * time.Millisecond,
		MaxAttempts: 3, JoinGroupBackoff: 250 * time.Millisecond,
	})
	defer func() {
		if err := r.Close(); err != nil {
			c.log.Warn("reader not closed cleanly", "topic", c.topic, "err", err)
		}
	}()
	inspectCtx, cancel := context.WithTimeout(ctx, inspectTimeout)
	_, damage, err := c.inspect(inspectCtx)
	cancel()
	switch {
	case err != nil: // it may be another log, whose heartbeats would claim what was lost with this one
		return fmt.Errorf("inspect: %w: %w", errSession, err)
	case damage != nil:
		return c.recoverFrom(ctx, r, damage)
	}
	fetchCtx, stop := context.WithCancelCause(ctx)
	f := &fetcher{reader: r, messages: make(chan kafkago.Message, c.batch)}
	failed := make(chan error, 2)
	go func() {
		failed <- f.run(fetchCtx)
		close(f.messages)
	}()
	go func() {
		d := stallDetector{consumer: c, fetcher: f}
		failed <- d.run(fetchCtx, stop)
	}()
	err = c.handleAll(ctx, r, f.messages, handle)
	stop(context.Canceled)
	for range f.messages { // unblock the fetcher, so that it sees the end
	}
	err = errors.Join(err, <-failed, <-failed)
	if errors.As(context.Cause(fetchCtx), &damage) {
		return c.recoverFrom(ctx, r, damage)
	}
	return err
}

// fetcher moves messages into a channel: a batch is what has arrived while the
// previous one was handled.
type fetcher struct {
	reader   *kafkago.Reader
	messages chan kafkago.Message
	fetched  atomic.Int64
	idle     atomic.Bool // waiting for the reader, not for the handler
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
			return fmt.Errorf("fetch: %w: %w", errSession, err)
		}
		f.fetched.Add(1)
		select {
		case f.messages <- m:
		case <-ctx.Done():
			return nil
		}
	}
}

// handleAll delivers batches to the handler and commits them.
func (c *Consumer) handleAll(
	ctx context.Context, r *kafkago.Reader, from <-chan kafkago.Message, handle transport.Handler,
) error {
	paused := make(map[int]int64) // the first offset of each paused partition
	isPaused := func(m *kafkago.Message) bool {
		first, ok := paused[m.Partition]
		return ok && m.Offset >= first
	}
	records := make([]scoreboard.Record, 0, c.batch)
	messages := make([]kafkago.Message, 0, c.batch)
	for {
		records, messages = records[:0], messages[:0]
		m, ok := <-from
		for ok {
			if !isPaused(&m) {
				records = append(records, recordOf(c.topic, &m))
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
		newlyPaused, err := handle(ctx, records)
		if err != nil {
			return fmt.Errorf("handle %d records of %s: %w", len(records), c.topic, err)
		}
		for partition, first := range newlyPaused {
			paused[partition] = first
			c.log.Error("partition paused", "topic", c.topic, "partition", partition, "offset", first)
		}
		handled := messages[:0]
		for i := range messages {
			if !isPaused(&messages[i]) {
				handled = append(handled, messages[i])
			}
		}
		if err := r.CommitMessages(ctx, handled...); err != nil {
			return fmt.Errorf("commit %d records of %s: %w", len(handled), c.topic, err)
		}
	}
}

func recordOf(topic string, m *kafkago.Message) scoreboard.Record {
	return scoreboard.Record{
		Topic: topic, Partition: m.Partition, Offset: m.Offset, Key: m.Key, Value: m.Value, Time: m.Time,
	}
}
