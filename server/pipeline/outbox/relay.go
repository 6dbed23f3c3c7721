package outbox

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Queue is the outbox in the store. Methods that take a generation do nothing
// once the lease has a newer one.
type Queue interface {
	OutboxPage(ctx context.Context, shard int, after scoreboard.Cursor, limit int) (scoreboard.OutboxPage, error)
	ClaimShard(ctx context.Context, shard int, owner string, ttl time.Duration) (
		generation int64, at scoreboard.Cursor, ok bool, err error)
	AdvanceShard(ctx context.Context, shard int, generation int64, to scoreboard.Cursor) (bool, error)
	ReleaseShard(ctx context.Context, shard int, generation int64) error
	RecordFailure(ctx context.Context, shard int, generation int64, attempts int, reason string) error
	// JoinRelays marks owner as alive, and returns all live relays in an order
	// that is the same for all of them.
	JoinRelays(ctx context.Context, owner string, ttl time.Duration) (alive []string, err error)
	LeaveRelays(ctx context.Context, owner string) error
	// OutboxShards returns the number of shards that have rows.
	OutboxShards(ctx context.Context) (int, error)
	// MoveToDeadLetters stores a row as a dead letter and moves the cursor past it.
	MoveToDeadLetters(ctx context.Context, generation int64, row scoreboard.Cursor, letter *scoreboard.DeadLetter) (
		bool, error)
}

// Publisher is the transport. Publish returns how many changes from the front
// were acknowledged, also with an error. An error with the code
// payload_too_large means that a retry of the next change, or of the batch that
// holds it, cannot succeed.
type Publisher interface {
	Publish(ctx context.Context, changes []scoreboard.Change) (int, error)
	Heartbeat(ctx context.Context, h scoreboard.Heartbeat) error
}

// Options are the settings of the relay.
type Options struct {
	Owner             string // of leases; unique in the cluster
	Shards            int
	BatchSize         int           // rows read and published at once
	PollInterval      time.Duration // between two reads of an idle shard
	BatchPause        time.Duration // after a batch that was not full: larger batches cost less
	HeartbeatInterval time.Duration
	LeaseDuration     time.Duration
	MaxAttempts       int // for a row that the transport rejects, before it goes to the dead letters
}

// Relay publishes the outbox.
type Relay struct {
	o          Options
	queue      Queue
	publisher  Publisher
	log        *slog.Logger
	metrics    *metrics
	polling    atomic.Pointer[polling]
	shardCount atomic.Int64 // as configured, or more if further shards have rows

	mu   sync.Mutex
	wake []chan struct{} // by shard
}

// NewRelay returns a relay; Run starts it.
func NewRelay(o Options, q Queue, p Publisher, log *slog.Logger) *Relay {
	r := &Relay{o: o, queue: q, publisher: p, log: log, metrics: newMetrics()}
	r.Configure(o.BatchSize, o.PollInterval, o.BatchPause)
	r.shardCount.Store(int64(o.Shards))
	return r
}

// polling holds the settings that can change at run time.
type polling struct {
	batchSize       int
	interval, pause time.Duration
}

// Configure changes the settings that can change at run time.
func (r *Relay) Configure(batchSize int, pollInterval, batchPause time.Duration) {
	r.polling.Store(&polling{batchSize, pollInterval, batchPause})
}

// Wake makes idle shards read at once, because this process has committed
// something. It never blocks.
func (r *Relay) Wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.wake {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// wakeChannel returns the channel on which Wake reaches a shard.
func (r *Relay) wakeChannel(shard int) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.wake) <= shard {
		r.wake = append(r.wake, make(chan struct{}, 1))
	}
	return r.wake[shard]
}

// runShard relays a shard whenever it gets the lease, until ctx ends. It calls
// touch to show that it does not hang.
func (r *Relay) runShard(ctx context.Context, shard int, touch func()) {
	attempt := 0
	for ctx.Err() == nil {
		touch()
		lease := &lease{relay: r, shard: shard, wake: r.wakeChannel(shard), touch: touch}
		moved, err := lease.run(ctx)
		if moved {
			attempt = 0
		}
		wait := r.o.LeaseDuration / 6 // another relay has the lease: retry soon after it may have expired
		if err != nil && ctx.Err() == nil {
			attempt++
			r.metrics.failures.Inc()
			r.log.Warn("relay interrupted", "shard", shard, "attempt", attempt, "err", err)
			wait = retry.Delay(attempt)
		}
		for until := time.Now().Add(wait); ctx.Err() == nil && time.Now().Before(until); touch() {
			retry.Sleep(ctx, min(time.Until(until), r.o.LeaseDuration/4))
		}
	}
}

type metrics struct {
	published   prometheus.Counter
	failures    prometheus.Counter
	deadLetters prometheus.Counter
	lag         prometheus.Histogram
}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_outbox_" + name, Help: help})
	}
	return &metrics{
		published: counter("published_total", "Changes that the transport has acknowledged."),
		failures:  counter("failures_total", "Failures after which a relay started again from its cursor."),
		deadLetters: counter(
			"dead_letters_total", "Rows that the transport rejected and that went to the dead letters."),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "scoreboard_outbox_lag_seconds",
			Help:    "Time from recording a change to its acknowledgement, for the last change of each batch.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60},
		}),
	}
}

// Collectors returns the metrics, for registration.
func (r *Relay) Collectors() []prometheus.Collector {
	return []prometheus.Collector{r.metrics.published, r.metrics.failures, r.metrics.deadLetters, r.metrics.lag}
}
