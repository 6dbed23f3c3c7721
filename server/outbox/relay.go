package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/server/backoff"
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

// Options are the knobs of the relay.
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

// lease is one ownership of a shard, from the claim until it is lost.
type lease struct {
	relay      *Relay
	shard      int
	wake       <-chan struct{}
	see        func() // says that the loop comes round
	generation int64
	at         scoreboard.Cursor
	renewed    time.Time
	beaten     time.Time
	marks      []mark
	limit      int // of a page: narrowed while the transport refuses something in it
	refused    int // how often it refused the one row that a page was narrowed to
}

// mark remembers a look at the outbox: once everything below next is settled
// and read, everything committed before at is published.
type mark struct {
	at   time.Time
	next uint64
}

// run relays until ctx ends or something fails. It reports whether it
// published anything.
func (l *lease) run(ctx context.Context) (moved bool, err error) {
	r := l.relay
	ok, err := l.claim(ctx)
	if err != nil {
		l.fail(ctx, err)
	}
	if !ok || err != nil {
		return false, err
	}
	defer l.release()
	l.limit = r.pace.Load().batch
	for ctx.Err() == nil {
		l.see()
		if time.Since(l.renewed) > r.o.Lease/3 {
			if ok, err := l.claim(ctx); !ok || err != nil {
				return moved, err
			}
		}
		n, err := l.once(ctx)
		moved = moved || n > 0
		if scoreboard.CodeOf(err) == scoreboard.CodePayloadTooLarge {
			if err = l.narrow(ctx, err); err == nil {
				continue
			}
		}
		if err != nil {
			l.fail(ctx, err)
			return moved, err
		}
		switch {
		case n >= l.limit:
			l.limit = min(2*l.limit, r.pace.Load().batch)
		case n > 0:
			sleep(ctx, r.pace.Load().pause)
		default:
			l.wait(ctx)
		}
	}
	return moved, nil
}

// claim takes or renews the lease. A cursor read with a new generation is the
// truth; with the same one, our own is.
func (l *lease) claim(ctx context.Context) (bool, error) {
	generation, at, ok, err := l.relay.queue.ClaimShard(ctx, l.shard, l.relay.o.Owner, l.relay.o.Lease)
	if generation != l.generation {
		l.generation, l.at = generation, at
	}
	if err != nil || !ok {
		return false, err
	}
	l.renewed = time.Now()
	return true, nil
}

func (l *lease) release() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := l.relay.queue.ReleaseShard(ctx, l.shard, l.generation); err != nil {
		l.relay.log.Debug("lease left to expire", "shard", l.shard, "err", err)
	}
}

func (l *lease) wait(ctx context.Context) {
	t := time.NewTimer(l.relay.pace.Load().poll)
	defer t.Stop()
	select {
	case <-l.wake:
	case <-t.C:
	case <-ctx.Done():
	}
}

// narrow halves the page until only the row is left that the transport
// refuses, tries that one for some time, and buries it. An outage is never
// taken for a refusal.
func (l *lease) narrow(ctx context.Context, refusal error) error {
	if l.limit > 1 {
		l.limit /= 2
		return nil
	}
	l.refused++
	if l.refused < l.relay.o.Tries {
		l.relay.log.Warn("row refused", "shard", l.shard, "cursor", l.at, "attempt", l.refused, "err", refusal)
		if err := l.relay.queue.FailShard(ctx, l.shard, l.generation, l.refused, refusal.Error()); err != nil {
			return err
		}
		backoff.Wait(ctx, l.refused)
		return nil
	}
	page, err := l.relay.queue.OutboxPage(ctx, l.shard, l.at, 1)
	if err != nil || len(page.Rows) == 0 {
		return err
	}
	row := &page.Rows[0]
	ok, err := l.relay.queue.BuryRow(ctx, l.shard, l.generation, row, refusal.Error(), l.refused)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("shard %d has a new owner", l.shard)
	}
	l.relay.metrics.buried.Inc()
	l.relay.log.Error("row buried", "shard", l.shard, "board", row.Board, "event", scoreboard.FormatUUID(row.Event), "err", refusal)
	l.at, l.refused = row.Cursor, 0
	return nil
}

// fail notes why the relay stands still, for whoever looks at the outbox. The
// store may be what is away.
func (l *lease) fail(ctx context.Context, reason error) {
	if ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := l.relay.queue.FailShard(ctx, l.shard, l.generation, 1, reason.Error()); err != nil {
		l.relay.log.Debug("failure not noted", "shard", l.shard, "err", err)
	}
}

// once reads a page, publishes it and moves the cursor over what was
// acknowledged. It returns how many rows that were.
func (l *lease) once(ctx context.Context) (int, error) {
	r := l.relay
	page, err := r.queue.OutboxPage(ctx, l.shard, l.at, l.limit)
	if err != nil {
		return 0, err
	}
	published := 0
	if len(page.Rows) > 0 {
		changes := make([]scoreboard.Change, len(page.Rows))
		for i := range page.Rows {
			changes[i] = page.Rows[i].Change
		}
		var publishErr error
		published, publishErr = r.publisher.Publish(ctx, changes)
		if published > 0 {
			if err := l.advance(ctx, page.Rows[:published]); err != nil {
				return published, err
			}
		}
		if publishErr != nil {
			return published, fmt.Errorf("publish %d changes: %w", len(changes), publishErr)
		}
	}
	return published, l.beat(ctx, page, len(page.Rows) < l.limit)
}

func (l *lease) advance(ctx context.Context, rows []scoreboard.OutboxRow) error {
	last := rows[len(rows)-1]
	ok, err := l.relay.queue.AdvanceShard(ctx, l.shard, l.generation, last.Cursor)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("shard %d has a new owner", l.shard)
	}
	l.at, l.refused = last.Cursor, 0
	l.relay.metrics.published.Add(float64(len(rows)))
	l.relay.metrics.lag.Observe(time.Since(last.RecordedAt).Seconds())
	return nil
}

// maxMarks bounds how many looks are remembered: one a heartbeat is enough.
const maxMarks = 8

// beat sends a heartbeat when one is due and something newer can be said. A
// page is drained when no row is left below what was settled as it was read;
// else everything below the cursor's transaction is read.
func (l *lease) beat(ctx context.Context, page scoreboard.OutboxPage, drained bool) error {
	now := time.Now()
	if now.Sub(l.beaten) < l.relay.o.Beat {
		return nil
	}
	if n := len(l.marks); n == 0 || page.At.Sub(l.marks[n-1].at) >= l.relay.o.Beat/2 && n < maxMarks {
		l.marks = append(l.marks, mark{page.At, page.Next})
	}
	read := page.Settled
	if !drained {
		read = min(read, l.at.XID)
	}
	var reached time.Time
	for len(l.marks) > 0 && l.marks[0].next <= read {
		reached = l.marks[0].at
		l.marks = l.marks[1:]
	}
	if reached.IsZero() {
		return nil
	}
	l.beaten = now
	if err := l.relay.publisher.Heartbeat(ctx, scoreboard.Heartbeat{Shard: l.shard, Shards: int(l.relay.extent.Load()), AsOf: reached}); err != nil {
		return fmt.Errorf("send a heartbeat: %w", err)
	}
	return nil
}
