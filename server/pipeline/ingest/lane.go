package ingest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/tracing"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// submission is what a caller submits at once and waits for.
type submission struct {
	left atomic.Int64  // calls without an outcome
	done chan struct{} // closed when no call is left
}

// call is one increment that waits for its outcome.
type call struct {
	of        *submission
	ctx       context.Context // of the caller: if it has ended before the commit, the call is dropped
	increment scoreboard.Increment
	entered   time.Time
	lockedAt  time.Time // when it joined the lockedQueue
	outcome   scoreboard.Outcome
	decided   atomic.Bool // outcome is final
}

// answer ends the wait for a call.
func (c *call) answer() {
	c.decided.Store(true)
	c.of.leave()
}

// leave counts a call that has its outcome.
func (s *submission) leave() {
	if s.left.Add(-1) == 0 {
		close(s.done)
	}
}

// lane commits the increments of its users, one transaction at a time.
type lane struct {
	ingest     *Ingest
	calls      chan *call
	answered   chan []*call  // have their outcome, and wait for ranks
	done       chan struct{} // closed when no more calls are answered
	commitTime atomic.Int64  // of one batch: moving average, in nanoseconds
	locked     *lockedQueue
}

// attempt is the result of recording a batch: calls that have their outcome, and
// those of locked users, which must be retried before later ones of these users.
type attempt struct {
	answered, locked []*call
	users            map[scoreboard.UserID]error // of locked
}

// estimateWait returns how long an increment that enters now waits for those
// before it. A full batch takes little longer than a small one, so it counts
// batches.
func (l *lane) estimateWait() time.Duration {
	batches := (len(l.calls) + l.ingest.o.Batch - 1) / l.ingest.o.Batch
	return time.Duration(int64(batches) * l.commitTime.Load())
}

// enter puts a call into the lane, or returns at once that the lane is overloaded.
func (l *lane) enter(c *call) error {
	in := l.ingest
	if wait := l.estimateWait(); wait > in.o.Wait {
		in.metrics.overloaded.Inc()
		return overloaded(wait)
	}
	select {
	case l.calls <- c:
		return nil
	default:
		in.metrics.overloaded.Inc()
		return overloaded(in.o.Wait)
	}
}

// await returns the outcome of a call, when all calls of its submission have theirs.
func (l *lane) await(c *call) ([]scoreboard.Receipt, error) {
	var err error
	select {
	case <-c.of.done:
	case <-c.ctx.Done():
		err = errUnknownOutcome(c.ctx.Err())
	case <-l.done:
		err = &scoreboard.Error{
			Code: wire.CodeUnavailable, Message: "the server is shutting down", RetryAfter: time.Second,
		}
	}
	if c.decided.Load() {
		return c.outcome.Receipts, c.outcome.Err
	}
	return nil, err
}

// commitAll commits batches until ctx ends and the lane is empty. Transactions do
// not end with ctx: increments that have entered are committed.
func (l *lane) commitAll(ctx context.Context) {
	defer close(l.locked.laneDone)
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

// gather adds calls that wait already. It never delays the first one.
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

// recordTimeout bounds a transaction with all its retries.
const recordTimeout = 10 * time.Second

func (l *lane) commitBatch(batch []*call) {
	batch, rejected := l.locked.divert(batch)
	if len(rejected) > 0 {
		l.answered <- rejected
	}
	if len(batch) == 0 {
		return
	}
	started := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	var done attempt
	l.recordTraced(ctx, batch, &done)
	l.ingest.committed()
	took := time.Since(started)
	l.commitTime.Store((7*l.commitTime.Load() + took.Nanoseconds()) / 8)
	l.ingest.metrics.batch.Observe(float64(len(batch)))
	l.ingest.metrics.commit.Observe(took.Seconds())
	l.answered <- append(done.answered, l.locked.add(done.locked)...)
}

// recordTraced is record within one span for the batch, if one of its increments is
// sampled: in that increment's trace, with links to the requests of the others.
func (l *lane) recordTraced(ctx context.Context, batch []*call, done *attempt) {
	ctx, span := l.ingest.o.Tracer.ContinueAll(
		ctx, len(batch), func(i int) string { return batch[i].increment.Trace }, tracing.Internal, "ingest batch")
	defer span.End()
	if span != nil {
		span.Set(tracing.Int("scoreboard.batch.size", len(batch)))
		for _, c := range batch {
			tracing.Link(c.ctx, span)
		}
	}
	l.record(ctx, span, batch, done)
}

// record sets the outcomes of a batch. If the ledger fails the whole batch, it
// records the halves, down to the increment that fails. During an outage it does
// not: every part would fail.
func (l *lane) record(ctx context.Context, span *tracing.Span, batch []*call, done *attempt) {
	batch = done.without(batch)
	if len(batch) == 0 {
		return
	}
	increments := make([]scoreboard.Increment, len(batch))
	for i, c := range batch {
		increments[i] = c.increment
	}
	outcomes, err := l.recordOnce(ctx, span, increments)
	switch {
	case err == nil:
		for i, c := range batch {
			done.add(c, outcomes[i])
		}
	case len(batch) == 1 || wire.CodeOf(err) == wire.CodeUnavailable:
		l.ingest.log.WarnContext(ctx, "increments not recorded", "count", len(batch), "err", err)
		for _, c := range batch {
			done.add(c, scoreboard.Outcome{Err: err})
		}
	default:
		l.ingest.metrics.splits.Inc()
		l.record(ctx, span, batch[:len(batch)/2], done)
		l.record(ctx, span, batch[len(batch)/2:], done)
	}
}

// recordOnce has the ledger record a batch, in a span of its own if the batch has one.
func (l *lane) recordOnce(
	ctx context.Context, batch *tracing.Span, increments []scoreboard.Increment,
) ([]scoreboard.Outcome, error) {
	ctx, span := batch.Child(ctx, tracing.Client, "record increments")
	defer span.End()
	outcomes, err := l.ingest.recorder.Record(ctx, increments)
	if span != nil {
		span.Set(tracing.String("db.system.name", "postgresql"),
			tracing.Int("db.operation.batch.size", len(increments)))
		if err != nil {
			span.Fail(string(wire.CodeOf(err)))
		}
	}
	return outcomes, err
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

// without removes the calls of users who have earlier, locked ones.
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

// answerAll adds ranks to receipts and answers the callers, while the lane
// commits the next batch. Batches that were committed while others were ranked are
// ranked at once.
func (l *lane) answerAll(ctx context.Context) {
	defer close(l.done)
	for batch := range l.answered {
		for range len(l.answered) { // nothing else receives
			batch = append(batch, <-l.answered...)
		}
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
			c.answer()
			l.ingest.metrics.observe(c)
		}
	}
}
