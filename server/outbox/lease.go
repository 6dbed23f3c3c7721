package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/internal/backoff"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

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
