package ingest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// call is one increment that waits for its outcome.
type call struct {
	ctx       context.Context // of the caller: one that hung up before its turn is dropped
	increment scoreboard.Increment
	entered   time.Time
	aside     time.Time // when it was set aside
	outcome   scoreboard.Outcome
	done      chan struct{}
}

// lane commits the increments of its users, one transaction at a time.
type lane struct {
	ingest   *Ingest
	calls    chan *call
	answered chan []*call  // committed, waiting for ranks
	over     chan struct{} // closed when nobody will answer any more
	pace     atomic.Int64  // smoothed nanoseconds that one batch takes
	aside    *aside
}

// attempt is what became of a batch: calls that have their outcome, and those
// of locked users, which are to be tried again before their users' next ones.
type attempt struct {
	answered, locked []*call
	users            map[scoreboard.UserID]error // the locked ones
}

// estimate is how long an increment that came now would wait for those before
// it. A batch takes little longer when it is full, so batches are counted.
func (l *lane) estimate() time.Duration {
	batches := (len(l.calls) + l.ingest.o.Batch - 1) / l.ingest.o.Batch
	return time.Duration(int64(batches) * l.pace.Load())
}

// enter puts an increment into the lane, or says at once that it would wait too
// long.
func (l *lane) enter(ctx context.Context, inc scoreboard.Increment) (*call, error) {
	in := l.ingest
	if wait := l.estimate(); wait > in.o.Wait {
		in.metrics.refused.Inc()
		return nil, overloaded(wait)
	}
	c := &call{ctx: ctx, increment: inc, entered: time.Now(), done: make(chan struct{})}
	select {
	case l.calls <- c:
		return c, nil
	default:
		in.metrics.refused.Inc()
		return nil, overloaded(in.o.Wait)
	}
}

// await returns what became of a call.
func (l *lane) await(ctx context.Context, c *call) ([]scoreboard.Receipt, error) {
	select {
	case <-c.done:
		return c.outcome.Receipts, c.outcome.Err
	case <-ctx.Done():
		return nil, &scoreboard.Error{
			Code: scoreboard.CodeUnavailable, Message: "the outcome is not known; ask again with the same event_id",
			RetryAfter: time.Second, Err: ctx.Err(),
		}
	case <-l.over:
		select {
		case <-c.done:
			return c.outcome.Receipts, c.outcome.Err
		default:
		}
		return nil, &scoreboard.Error{Code: scoreboard.CodeUnavailable, Message: "the server is stopping", RetryAfter: time.Second}
	}
}

// commitAll takes whatever waits, commits it, and does it again. Work that was
// accepted ends under its own context, not that of Run.
func (l *lane) commitAll(ctx context.Context) {
	defer close(l.aside.lanes)
	for {
		select {
		case c := <-l.calls:
			l.commitBatch(l.gather(c))
		case <-ctx.Done():
			for {
				select {
				case c := <-l.calls:
					l.commitBatch(l.gather(c))
				default:
					return
				}
			}
		}
	}
}

// gather adds what waits already; no timer holds the first one back.
func (l *lane) gather(first *call) []*call {
	batch := make([]*call, 0, min(len(l.calls)+1, l.ingest.o.Batch))
	for c := first; ; {
		if c.ctx.Err() == nil {
			batch = append(batch, c)
		}
		if len(batch) == l.ingest.o.Batch {
			return batch
		}
		select {
		case c = <-l.calls:
		default:
			return batch
		}
	}
}

// recordBudget bounds a transaction with all its retries.
const recordBudget = 10 * time.Second

func (l *lane) commitBatch(batch []*call) {
	batch, refused := l.aside.divert(batch)
	if len(refused) > 0 {
		l.answered <- refused
	}
	if len(batch) == 0 {
		return
	}
	started := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), recordBudget)
	defer cancel()
	var done attempt
	l.record(ctx, batch, &done)
	l.ingest.commit()
	took := time.Since(started)
	l.pace.Store((7*l.pace.Load() + took.Nanoseconds()) / 8)
	l.ingest.metrics.batch.Observe(float64(len(batch)))
	l.ingest.metrics.commit.Observe(took.Seconds())
	l.answered <- append(done.answered, l.aside.add(done.locked)...)
}

// record fills in the outcomes of a batch. Where the ledger refuses the whole,
// halves are tried, down to the one that is to blame. An outage is no one's
// fault and is not tried piece by piece.
func (l *lane) record(ctx context.Context, batch []*call, done *attempt) {
	batch = done.without(batch)
	if len(batch) == 0 {
		return
	}
	increments := make([]scoreboard.Increment, len(batch))
	for i, c := range batch {
		increments[i] = c.increment
	}
	outcomes, err := l.ingest.ledger.Record(ctx, increments)
	switch {
	case err == nil:
		for i, c := range batch {
			done.add(c, outcomes[i])
		}
	case len(batch) == 1 || scoreboard.CodeOf(err) == scoreboard.CodeUnavailable:
		l.ingest.log.Warn("increments not recorded", "count", len(batch), "err", err)
		for _, c := range batch {
			done.add(c, scoreboard.Outcome{Err: err})
		}
	default:
		l.ingest.metrics.splits.Inc()
		l.record(ctx, batch[:len(batch)/2], done)
		l.record(ctx, batch[len(batch)/2:], done)
	}
}

func (a *attempt) add(c *call, o scoreboard.Outcome) {
	c.outcome = o
	if !errors.Is(o.Err, scoreboard.ErrUserLocked) {
		a.answered = append(a.answered, c)
		return
	}
	if a.users == nil {
		a.users = make(map[scoreboard.UserID]error)
	}
	a.users[c.increment.User] = o.Err
	a.locked = append(a.locked, c)
}

// without leaves out calls of users whose earlier ones wait.
func (a *attempt) without(batch []*call) []*call {
	if len(a.users) == 0 {
		return batch
	}
	rest := make([]*call, 0, len(batch))
	for _, c := range batch {
		if err := a.users[c.increment.User]; err != nil {
			c.outcome = scoreboard.Outcome{Err: err}
			a.locked = append(a.locked, c)
		} else {
			rest = append(rest, c)
		}
	}
	return rest
}

// answerAll ranks what was committed and answers the callers, while the lane
// commits the next batch.
func (l *lane) answerAll(ctx context.Context) {
	defer close(l.over)
	for batch := range l.answered {
		var receipts []*scoreboard.Receipt
		for _, c := range batch {
			for i := range c.outcome.Receipts {
				receipts = append(receipts, &c.outcome.Receipts[i])
			}
		}
		if len(receipts) > 0 {
			l.ingest.ranker.Rank(context.WithoutCancel(ctx), receipts)
		}
		for _, c := range batch {
			close(c.done)
			l.ingest.metrics.observe(c)
		}
	}
}
