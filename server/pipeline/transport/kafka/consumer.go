package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/offsetcommit"
	"golang.org/x/sync/errgroup"

	"github.com/scoreboard/scoreboard/internal/metric"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Consumer reads one topic as a member of a group.
type Consumer struct {
	client     *Client
	topic      string
	group      string
	batch      int
	checkEvery time.Duration // of the stall detector
	log        *slog.Logger

	inspecting sync.Mutex
	seen       seenLog                  // guarded by inspecting
	id         atomic.Pointer[[16]byte] // of the topic as it was inspected; nil: not yet
	onDamage   func(context.Context, *Damage) error

	lag      atomic.Int64
	damages  atomic.Int64
	lost     atomic.Int64
	damaged  atomic.Int64 // when last, in Unix seconds; 0: never
	lagGauge *metric.Expiring
	stalls   prometheus.Counter
	rewinds  prometheus.Counter
	losses   prometheus.Counter
}

// commitInterval is the time between two commits of a member.
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

// inspectTimeout bounds the inspection before a generation.
const inspectTimeout = 3 * time.Second

// errSession is in the chain of an error after which a new session is started.
var errSession = errors.New("the session has ended")

// session is one membership in the group.
type session struct {
	*Consumer
	handle  transport.Handler
	paused  map[int]int64 // the first offset of each partition that is paused in this generation
	fetched atomic.Int64  // records
	busy    atomic.Bool   // handling records
}

// runSession reads as one member of the group, in one generation of the group after
// another: they change when members come and go.
func (c *Consumer) runSession(ctx context.Context, handle transport.Handler) error {
	group, err := kafkago.NewConsumerGroup(kafkago.ConsumerGroupConfig{
		ID: c.group, Brokers: c.client.o.Brokers, Topics: []string{c.topic}, Dialer: c.client.dialer(),
		StartOffset: kafkago.FirstOffset, WatchPartitionChanges: true, PartitionWatchInterval: 5 * time.Second,
		SessionTimeout: 6 * time.Second, RebalanceTimeout: rebalanceTimeout, HeartbeatInterval: 500 * time.Millisecond,
		JoinGroupBackoff: 250 * time.Millisecond,
	})
	if err != nil {
		return fmt.Errorf("join group %s: %w", c.group, err)
	}
	defer func() { _ = group.Close() }() // always nil
	s := &session{Consumer: c, handle: handle, paused: make(map[int]int64)}
	readCtx, end := context.WithCancelCause(ctx)
	inspected := make(chan error, 1)
	go func() {
		d := stallDetector{session: s}
		inspected <- d.run(readCtx, end)
	}()
	err = s.runGenerations(readCtx, group)
	end(context.Canceled)
	err = errors.Join(err, <-inspected)
	var damage *Damage
	if errors.As(err, &damage) {
		return c.recoverFrom(ctx, group, damage)
	}
	return err
}

// maxJoinFailures is how often in a row a session fails to join the group.
const maxJoinFailures = 10

// runGenerations reads until ctx ends, or something fails.
func (s *session) runGenerations(ctx context.Context, group *kafkago.ConsumerGroup) error {
	for failures := 0; ; {
		generation, err := group.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if failures++; failures == maxJoinFailures {
				return fmt.Errorf("join: %w: %w", errSession, err)
			}
			continue // the group tries again
		}
		failures = 0
		ended := make(chan error, 1)
		generation.Start(func(generationCtx context.Context) {
			ended <- s.runGeneration(ctx, generationCtx, generation)
		})
		if err := <-ended; err != nil {
			return err
		}
	}
}

// runGeneration reads the partitions that a generation assigns, until it or ctx ends, and
// then returns nil; or a [Damage], before it reads. The group waits for it before the next
// generation. What is handled without being committed is delivered again.
func (s *session) runGeneration(ctx, generationCtx context.Context, generation *kafkago.Generation) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(generationCtx, end)()
	clear(s.paused) // a member of another build may have consumed them further
	next, err := s.prepare(ctx, generation)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	fetched := make(chan []scoreboard.Record, queuedFetches)
	f := &fetcher{
		client: s.client, topic: s.topic, next: next,
		take: func(ctx context.Context, records []scoreboard.Record) error {
			select {
			case fetched <- records:
				s.fetched.Add(int64(len(records)))
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	}
	commits := &commits{client: s.client, topic: s.topic, generation: generation}
	work, workCtx := errgroup.WithContext(ctx)
	work.Go(func() error {
		if err := f.run(workCtx); err != nil {
			return fmt.Errorf("%w: %w", errSession, err)
		}
		return nil
	})
	work.Go(func() error { return commits.run(workCtx) })
	work.Go(func() error { return s.handleAll(workCtx, fetched, commits) })
	err = errors.Join(work.Wait(), commits.commit())
	if errors.Is(err, errCommit) {
		s.log.Warn("offsets not committed", "topic", s.topic, "err", err)
	}
	if ctx.Err() != nil || errors.Is(err, errCommit) { // any other failure occurs again
		return nil
	}
	return err
}

// errCommit is in the chain of an error that ends a generation, but no session: another
// member has come, or the coordinator has gone.
var errCommit = errors.New("offsets not committed")

// queuedFetches is how many responses wait for the handler at most.
const queuedFetches = 4

// prepare inspects the log and returns where the partitions of a generation are read. It
// may be another log, whose heartbeats would claim what was lost with the former one.
func (s *session) prepare(ctx context.Context, generation *kafkago.Generation) (map[int]*cursor, error) {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	now, damage, err := s.inspect(ctx)
	if err != nil && !errors.Is(err, errPartly) { // the leaders that answer are read
		return nil, fmt.Errorf("inspect: %w: %w", errSession, err)
	}
	if damage != nil {
		return nil, damage
	}
	next, err := s.positionsOf(ctx, generation.Assignments[s.topic], now)
	if err != nil {
		return nil, fmt.Errorf("start: %w: %w", errSession, err)
	}
	return next, nil
}

// positionsOf returns where assigned partitions are read: from the committed offset, or
// from the start.
func (s *session) positionsOf(
	ctx context.Context, assigned []kafkago.PartitionAssignment, now map[int]position,
) (map[int]*cursor, error) {
	next := make(map[int]*cursor, len(assigned))
	var ends map[int]position
	for i := range assigned {
		p := &assigned[i]
		if p.Offset == kafkago.FirstOffset {
			if ends == nil {
				n, err := s.client.partitions(ctx, s.topic)
				if err == nil {
					ends, _, err = s.client.knownEnds(ctx, s.topic, n)
				}
				if err != nil {
					return nil, err
				}
			}
			p.Offset = ends[p.ID].first // 0 if it has no leader; if it begins later, a new session finds that
		}
		next[p.ID] = &cursor{p.Offset, unknownEpoch}
		if known, ok := now[p.ID]; ok && known.committed == p.Offset {
			next[p.ID].epoch = known.epoch
		}
	}
	return next, nil
}

// handleAll delivers records to the handler, in batches of what has arrived while the
// previous one was handled.
func (s *session) handleAll(ctx context.Context, fetched <-chan []scoreboard.Record, commits *commits) error {
	var waiting []scoreboard.Record
	for {
		if len(waiting) == 0 {
			select {
			case waiting = <-fetched:
			case <-ctx.Done():
				return nil
			}
		}
		for more := true; more && len(waiting) < s.batch; {
			select {
			case records := <-fetched:
				waiting = append(waiting, records...)
			default:
				more = false
			}
		}
		batch := s.withoutPaused(waiting[:min(len(waiting), s.batch)])
		waiting = waiting[min(len(waiting), s.batch):]
		if len(batch) == 0 {
			continue
		}
		s.busy.Store(true)
		newlyPaused, err := s.handle(ctx, batch)
		s.busy.Store(false)
		if err != nil {
			return fmt.Errorf("handle %d records of %s: %w", len(batch), s.topic, err)
		}
		for partition, first := range newlyPaused {
			s.paused[partition] = first
			s.log.Error("partition paused", "topic", s.topic, "partition", partition, "offset", first)
		}
		commits.add(s.withoutPaused(batch))
	}
}

// withoutPaused returns the records that no pause holds back, in the same memory.
func (s *session) withoutPaused(records []scoreboard.Record) []scoreboard.Record {
	if len(s.paused) == 0 {
		return records
	}
	return slices.DeleteFunc(records, func(r scoreboard.Record) bool {
		first, paused := s.paused[r.Partition]
		return paused && r.Offset >= first
	})
}

// commits are the offsets that a member has handled in a generation.
type commits struct {
	client     *Client
	topic      string
	generation *kafkago.Generation

	mu   sync.Mutex
	next map[int]cursor // by partition; not committed yet
}

func (c *commits) add(handled []scoreboard.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = make(map[int]cursor)
	}
	for i := range handled {
		c.next[handled[i].Partition] = cursor{handled[i].Offset + 1, handled[i].LeaderEpoch}
	}
}

// run commits every commitInterval until ctx ends.
func (c *commits) run(ctx context.Context) error {
	tick := time.NewTicker(commitInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := c.commit(); err != nil {
			return err
		}
	}
}

func (c *commits) commit() error {
	c.mu.Lock()
	next := c.next
	c.next = nil
	c.mu.Unlock()
	if len(next) == 0 {
		return nil
	}
	if err := c.client.commit(c.generation, c.topic, next); err != nil {
		return fmt.Errorf("%w: %w", errCommit, err)
	}
	return nil
}

// commit commits where a group reads partitions next, as a member of a generation. kafka-go's
// own commits have no epochs.
func (c *Client) commit(g *kafkago.Generation, topic string, next map[int]cursor) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.o.Timeout)
	defer cancel()
	partitions := make([]offsetcommit.RequestPartition, 0, len(next))
	for partition, at := range next {
		partitions = append(partitions, offsetcommit.RequestPartition{
			PartitionIndex: int32(partition), CommittedOffset: at.offset, CommittedLeaderEpoch: at.epoch,
		})
	}
	answer, err := c.transport.RoundTrip(ctx, c.api.Addr, &offsetcommit.Request{
		GroupID: g.GroupID, GenerationID: g.ID, MemberID: g.MemberID, RetentionTimeMs: -1,
		Topics: []offsetcommit.RequestTopic{{Name: topic, Partitions: partitions}},
	})
	if err != nil {
		return err
	}
	for _, t := range answer.(*offsetcommit.Response).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return fmt.Errorf("partition %d: %w", p.PartitionIndex, kafkago.Error(p.ErrorCode))
			}
		}
	}
	return nil
}
