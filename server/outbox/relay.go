package outbox

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/internal/backoff"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Queue is the outbox in the store.
type Queue interface {
	OutboxPage(ctx context.Context, shard int, after scoreboard.Cursor, limit int) (scoreboard.OutboxPage, error)
	ClaimShard(ctx context.Context, shard int, owner string, life time.Duration) (generation int64, at scoreboard.Cursor, ok bool, err error)
	AdvanceShard(ctx context.Context, shard int, generation int64, to scoreboard.Cursor) (bool, error)
	ReleaseShard(ctx context.Context, shard int, generation int64) error
	FailShard(ctx context.Context, shard int, generation int64, attempts int, reason string) error
	// JoinRelays says that owner is alive and returns all that are, in an order
	// that all of them see; OutboxShards says of how many shards there are rows.
	JoinRelays(ctx context.Context, owner string, life time.Duration) (alive []string, err error)
	LeaveRelays(ctx context.Context, owner string) error
	OutboxShards(ctx context.Context) (int, error)
	BuryRow(ctx context.Context, shard int, generation int64, row *scoreboard.OutboxRow, reason string, attempts int) (bool, error)
}

// Publisher is the transport. Publish returns how many changes from the front
// were acknowledged, even with an error. payload_too_large says that the next
// one, or one of those sent with it, is refused for good.
type Publisher interface {
	Publish(ctx context.Context, changes []scoreboard.Change) (int, error)
	Heartbeat(ctx context.Context, h scoreboard.Heartbeat) error
}

// Options are the settings of the relay.
type Options struct {
	Owner  string // of leases; unique in the cluster
	Shards int
	Batch  int           // rows read and published at once
	Poll   time.Duration // between looks at an idle shard
	Pause  time.Duration // between two batches that were not full: larger batches cost less
	Beat   time.Duration // between heartbeats
	Lease  time.Duration
	Tries  int // of a row that the transport refuses, before it is buried
}

// Relay publishes the outbox.
type Relay struct {
	o         Options
	queue     Queue
	publisher Publisher
	log       *slog.Logger
	metrics   *metrics
	pace      atomic.Pointer[pace]
	extent    atomic.Int64 // shards that there are: as configured, or more where rows of more are left

	mu   sync.Mutex
	wake []chan struct{} // of each shard
}

// NewRelay makes a relay; Run starts it.
func NewRelay(o Options, q Queue, p Publisher, log *slog.Logger) *Relay {
	r := &Relay{o: o, queue: q, publisher: p, log: log, metrics: newMetrics()}
	r.Configure(o.Batch, o.Poll, o.Pause)
	r.extent.Store(int64(o.Shards))
	return r
}

// pace is how fast a relay goes: what is turned while it runs.
type pace struct {
	batch       int
	poll, pause time.Duration
}

// Configure puts another pace in force.
func (r *Relay) Configure(batch int, poll, pause time.Duration) {
	r.pace.Store(&pace{batch, poll, pause})
}

// Wake says that something was committed in this process. It never blocks.
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

// waker is what wakes the owner of a shard.
func (r *Relay) waker(shard int) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.wake) <= shard {
		r.wake = append(r.wake, make(chan struct{}, 1))
	}
	return r.wake[shard]
}

// tend owns a shard for as long as it can, over and over.
func (r *Relay) tend(ctx context.Context, shard int, see func()) {
	attempt := 0
	for ctx.Err() == nil {
		see()
		lease := &lease{relay: r, shard: shard, wake: r.waker(shard), see: see}
		moved, err := lease.run(ctx)
		if moved {
			attempt = 0
		}
		wait := r.o.Lease / 6 // someone else's shard: look again soon after it could be free
		if err != nil && ctx.Err() == nil {
			attempt++
			r.metrics.failures.Inc()
			r.log.Warn("relay interrupted", "shard", shard, "attempt", attempt, "err", err)
			wait = backoff.Delay(attempt)
		}
		for until := time.Now().Add(wait); ctx.Err() == nil && time.Now().Before(until); see() {
			sleep(ctx, min(time.Until(until), r.o.Lease/4))
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
