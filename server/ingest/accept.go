package ingest

import (
	"context"
	"log/slog"
	"time"

	"github.com/scoreboard/scoreboard/internal/breaker"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Marks remember what was accepted and is not recorded yet.
type Marks interface {
	// Pending marks events, each with its payload's hash, and returns the hash
	// of the mark that was there before, nil where there was none.
	Pending(ctx context.Context, batch []scoreboard.Increment) ([]*[16]byte, error)
	// IsPending says whether an event is marked.
	IsPending(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) (bool, error)
	// Clear forgets marks whose outcome is in the store.
	Clear(ctx context.Context, batch []scoreboard.Increment) error
}

// Known looks events up without a lock: receipts or a conflict for those that
// are recorded, an empty outcome for the rest.
type Known interface {
	Known(ctx context.Context, batch []scoreboard.Increment) ([]scoreboard.Outcome, error)
	Rejection(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) (*scoreboard.Error, error)
}

// Broker takes accepted increments, keyed by user, and returns how many from
// the front are safe with all replicas.
type Broker interface {
	Accept(ctx context.Context, batch []scoreboard.Increment, at time.Time) (int, error)
}

// How long an accepted increment may wait for what it can do without, and for
// the broker.
const (
	markBudget   = 100 * time.Millisecond
	knownBudget  = 250 * time.Millisecond
	brokerBudget = 5 * time.Second
)

// After so many failures in a row the marks are left alone, but for one try in
// each pause.
const (
	markFailures = 3
	markPause    = time.Second
)

// Acceptor takes increments onto the broker, for a 202. It works while the
// store is away, and while Redis is: then a repeat may be accepted twice, and
// the ledger refuses the double.
type Acceptor struct {
	marks  Marks
	known  Known
	broker Broker
	log    *slog.Logger
	guard  *breaker.Breaker // of the marks
	calls  chan *accepting
	batch  int
	wait   time.Duration
}

// accepting is one increment that waits to be accepted.
type accepting struct {
	increment scoreboard.Increment
	outcome   scoreboard.Outcome
	done      chan struct{}
}

// NewAcceptor makes an acceptor with a bounded queue; Run starts it.
func NewAcceptor(o Options, m Marks, k Known, b Broker, log *slog.Logger) *Acceptor {
	guard := breaker.New(markFailures, markPause, time.Now)
	return &Acceptor{marks: m, known: k, broker: b, log: log, guard: guard, calls: make(chan *accepting, o.Queue), batch: o.Batch, wait: o.Wait}
}

// Accept returns no receipts where the increment is now pending, the original
// receipts where it is done already, or why it is refused.
func (a *Acceptor) Accept(ctx context.Context, in scoreboard.Increment) ([]scoreboard.Receipt, error) {
	c := &accepting{increment: in, done: make(chan struct{})}
	select {
	case a.calls <- c:
	default:
		return nil, overloaded(a.wait)
	}
	select {
	case <-c.done:
		return c.outcome.Receipts, c.outcome.Err
	case <-ctx.Done():
		return nil, &scoreboard.Error{
			Code: scoreboard.CodeUnavailable, Message: "the outcome is not known; ask again with the same event_id",
			RetryAfter: time.Second, Err: ctx.Err(),
		}
	}
}

// Run accepts whatever has gathered, again and again, until ctx ends and the
// queue is empty.
func (a *Acceptor) Run(ctx context.Context) error {
	for {
		select {
		case c := <-a.calls:
			a.acceptBatch(c)
		case <-ctx.Done():
			for {
				select {
				case c := <-a.calls:
					a.acceptBatch(c)
				default:
					return nil
				}
			}
		}
	}
}

func (a *Acceptor) acceptBatch(first *accepting) {
	batch := []*accepting{first}
gather:
	for len(batch) < a.batch {
		select {
		case c := <-a.calls:
			batch = append(batch, c)
		default:
			break gather
		}
	}
	fresh := a.settle(batch)
	a.produce(fresh)
	for _, c := range batch {
		close(c.done)
	}
}

// settle answers those that are known or pending and returns the rest. A mark
// is taken before the ledger is looked at: whoever is recorded in between is
// found by one of the two.
func (a *Acceptor) settle(batch []*accepting) []*accepting {
	increments := make([]scoreboard.Increment, len(batch))
	for i, c := range batch {
		increments[i] = c.increment
	}
	marks := a.mark(increments)
	ctx, cancel := context.WithTimeout(context.Background(), knownBudget)
	known, err := a.known.Known(ctx, increments)
	cancel()
	if err != nil {
		a.log.Debug("accepting without a look at the ledger", "err", err)
		known = make([]scoreboard.Outcome, len(batch))
	}
	var fresh []*accepting
	var recorded []scoreboard.Increment // marked a moment ago for nothing
	for i, c := range batch {
		switch {
		case known[i].Err != nil || known[i].Receipts != nil:
			c.outcome = known[i]
			if marks[i] == nil {
				recorded = append(recorded, c.increment)
			}
		case marks[i] != nil && *marks[i] != c.increment.PayloadHash():
			c.outcome.Err = scoreboard.Errorf(scoreboard.CodeEventConflict, "event %s was accepted with another payload", c.increment.Event.Text)
		case marks[i] != nil: // pending already
		default:
			fresh = append(fresh, c)
		}
	}
	a.clear(recorded)
	return fresh
}

// mark marks increments as pending and returns the marks that were there
// before; none where Redis does not answer in time, or has not lately.
func (a *Acceptor) mark(increments []scoreboard.Increment) []*[16]byte {
	if budget, ok := a.guard.Budget(markBudget); ok {
		ctx, cancel := context.WithTimeout(context.Background(), budget)
		defer cancel()
		marks, err := a.marks.Pending(ctx, increments)
		a.guard.Done(err == nil)
		if err == nil {
			return marks
		}
		a.log.Debug("accepting without marks", "err", err)
	}
	return make([]*[16]byte, len(increments))
}

// produce puts increments onto the broker. What is not safe there is refused,
// and its mark taken back, or a repeat would be told that it is pending.
func (a *Acceptor) produce(fresh []*accepting) {
	if len(fresh) == 0 {
		return
	}
	increments := make([]scoreboard.Increment, len(fresh))
	for i, c := range fresh {
		increments[i] = c.increment
	}
	ctx, cancel := context.WithTimeout(context.Background(), brokerBudget)
	defer cancel()
	n, err := a.broker.Accept(ctx, increments, time.Now())
	if err == nil {
		return
	}
	a.log.Warn("increments not accepted", "count", len(fresh)-n, "err", err)
	for _, c := range fresh[n:] {
		c.outcome.Err = &scoreboard.Error{
			Code: scoreboard.CodeUnavailable, Message: "the broker is not available", RetryAfter: time.Second, Err: err,
		}
	}
	a.clear(increments[n:])
}

func (a *Acceptor) clear(batch []scoreboard.Increment) {
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), markBudget)
	defer cancel()
	if err := a.marks.Clear(ctx, batch); err != nil {
		a.log.Debug("marks left to expire", "count", len(batch), "err", err)
	}
}

// Status says what became of an event that has no receipt: pending, or the
// error that it was rejected with; not_found where nothing is known of it.
func (a *Acceptor) Status(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) (pending bool, rejected *scoreboard.Error, err error) {
	if rejected, err = a.known.Rejection(ctx, user, event); rejected != nil {
		return false, rejected, nil
	}
	if marked, markErr := a.marks.IsPending(ctx, user, event); markErr == nil && marked {
		return true, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	return false, nil, scoreboard.Errorf(scoreboard.CodeNotFound, "event %s of user %s is not known", event.Text, user)
}
