package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// lease is one ownership of a shard, from the claim until it is lost.
type lease struct {
	relay      *Relay
	shard      int
	wake       <-chan struct{}
	touch      func()
	generation int64
	at         scoreboard.Cursor
	renewed    time.Time

	limit    int // of a page: shrunk while the transport rejects something in it
	rejected int // attempts at the only row of a page of one

	lastBeat  time.Time
	snapshots []snapshot
}

// run relays until ctx ends or an error occurs. It reports whether it published
// anything.
func (l *lease) run(ctx context.Context) (moved bool, err error) {
	r := l.relay
	ok, err := l.claim(ctx)
	if err != nil {
		l.recordFailure(ctx, err)
	}
	if !ok || err != nil {
		return false, err
	}
	defer l.release()
	l.limit = r.polling.Load().batchSize
	for ctx.Err() == nil {
		l.touch()
		if time.Since(l.renewed) > r.o.LeaseDuration/3 {
			if ok, err := l.claim(ctx); !ok || err != nil {
				return moved, err
			}
		}
		n, err := l.relayPage(ctx)
		moved = moved || n > 0
		if wire.CodeOf(err) == wire.CodePayloadTooLarge {
			if err = l.shrinkPage(ctx, err); err == nil {
				continue
			}
		}
		if err != nil {
			l.recordFailure(ctx, err)
			return moved, err
		}
		switch {
		case n >= l.limit:
			l.limit = min(2*l.limit, r.polling.Load().batchSize)
		case n > 0:
			retry.Sleep(ctx, r.polling.Load().pause)
		default:
			l.wait(ctx)
		}
	}
	return moved, nil
}

// claim takes or renews the lease. The cursor is the one in the store: that in memory
// equals it, unless the answer to a move was lost, or the store was restored to a state
// in which the generation happens to be the same.
func (l *lease) claim(ctx context.Context) (bool, error) {
	generation, at, ok, err := l.relay.queue.ClaimShard(ctx, l.shard, l.relay.o.Owner, l.relay.o.LeaseDuration)
	if at != l.at {
		l.snapshots = nil // of transaction ids that may be given out again
	}
	l.generation, l.at = generation, at
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
	t := time.NewTimer(l.relay.polling.Load().interval)
	defer t.Stop()
	select {
	case <-l.wake:
	case <-t.C:
	case <-ctx.Done():
	}
}

// relayPage reads a page, publishes it, and moves the cursor over what was
// acknowledged. It returns the number of those rows.
func (l *lease) relayPage(ctx context.Context) (int, error) {
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
	return published, l.sendHeartbeat(ctx, page, len(page.Rows) < l.limit)
}

func (l *lease) advance(ctx context.Context, rows []scoreboard.OutboxRow) error {
	last := rows[len(rows)-1]
	ok, err := l.relay.queue.AdvanceShard(ctx, l.shard, l.generation, last.Cursor)
	if err != nil {
		return err
	}
	if !ok {
		return l.errLost()
	}
	l.at, l.rejected = last.Cursor, 0
	l.relay.metrics.published.Add(float64(len(rows)))
	l.relay.metrics.lag.Observe(time.Since(last.RecordedAt).Seconds())
	return nil
}

func (l *lease) errLost() error {
	return fmt.Errorf("lost the lease of shard %d to another relay", l.shard)
}

// shrinkPage halves the page until it holds only the row that the transport
// rejects, retries that row, and then moves it to the dead letters. It is called
// for rejections alone, never for an outage.
func (l *lease) shrinkPage(ctx context.Context, rejection error) error {
	if l.limit > 1 {
		l.limit /= 2
		return nil
	}
	l.rejected++
	if l.rejected < l.relay.o.MaxAttempts {
		l.relay.log.Warn("row rejected by the transport",
			"shard", l.shard, "cursor", l.at, "attempt", l.rejected, "err", rejection)
		err := l.relay.queue.RecordFailure(ctx, l.shard, l.generation, l.rejected, rejection.Error())
		if err != nil {
			return err
		}
		retry.Wait(ctx, l.rejected)
		return nil
	}
	page, err := l.relay.queue.OutboxPage(ctx, l.shard, l.at, 1)
	if err != nil || len(page.Rows) == 0 {
		return err
	}
	row := &page.Rows[0]
	letter := scoreboard.DeadLetter{
		Topic: scoreboard.FromOutbox, Partition: l.shard, Offset: row.Cursor.ID,
		Value: protocol.AppendEvent(nil, &row.Change), Reason: rejection.Error(), Attempts: l.rejected,
	}
	ok, err := l.relay.queue.MoveToDeadLetters(ctx, l.generation, row.Cursor, &letter)
	if err != nil {
		return err
	}
	if !ok {
		return l.errLost()
	}
	l.relay.metrics.deadLetters.Inc()
	l.relay.log.Error("row moved to the dead letters",
		"shard", l.shard, "board", row.Board, "event", scoreboard.FormatUUID(row.Event), "err", rejection)
	l.at, l.rejected = row.Cursor, 0
	return nil
}

// recordFailure stores why the relay does not advance, for the outbox status.
// The store itself may be unavailable.
func (l *lease) recordFailure(ctx context.Context, reason error) {
	if ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := l.relay.queue.RecordFailure(ctx, l.shard, l.generation, 1, reason.Error()); err != nil {
		l.relay.log.Debug("failure not recorded", "shard", l.shard, "err", err)
	}
}

// snapshot is a time and the next transaction id at that time. Once everything
// below next is finished and read, everything committed before at is published.
type snapshot struct {
	at   time.Time
	next uint64
}

// maxSnapshots bounds the memory of a shard; one for each heartbeat is enough.
const maxSnapshots = 8

// sendHeartbeat sends a heartbeat if the interval has passed and a later time
// than before is reached. If the page was drained, no row is left below the
// transaction id that was settled when it was read; otherwise everything below
// the cursor's transaction is read.
func (l *lease) sendHeartbeat(ctx context.Context, page scoreboard.OutboxPage, drained bool) error {
	now := time.Now()
	interval := l.relay.o.HeartbeatInterval
	if now.Sub(l.lastBeat) < interval {
		return nil
	}
	n := len(l.snapshots)
	if n == 0 || page.At.Sub(l.snapshots[n-1].at) >= interval/2 && n < maxSnapshots {
		l.snapshots = append(l.snapshots, snapshot{page.At, page.Next})
	}
	read := page.Settled
	if !drained {
		read = min(read, l.at.XID)
	}
	var reached time.Time
	for len(l.snapshots) > 0 && l.snapshots[0].next <= read {
		reached = l.snapshots[0].at
		l.snapshots = l.snapshots[1:]
	}
	if reached.IsZero() {
		return nil
	}
	l.lastBeat = now
	beat := scoreboard.Heartbeat{Shard: l.shard, Shards: int(l.relay.shardCount.Load()), AsOf: reached}
	if err := l.relay.publisher.Heartbeat(ctx, beat); err != nil {
		return fmt.Errorf("send a heartbeat: %w", err)
	}
	return nil
}
