package ingest

import (
	"context"
	"log/slog"
	"time"

	"github.com/scoreboard/scoreboard/internal/breaker"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Marks remember events that are accepted and not recorded yet.
type Marks interface {
	// Pending marks events with the hashes of their payloads. For each it returns
	// the hash of an existing mark, which it keeps, or nil.
	Pending(ctx context.Context, batch []scoreboard.Increment) ([]*[16]byte, error)
	// IsPending reports whether an event is marked.
	IsPending(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) (bool, error)
	// Clear removes the marks of events whose outcome is in the store.
	Clear(ctx context.Context, batch []scoreboard.Increment) error
}

// Known looks up events without a lock. It returns receipts or a conflict for
// those that are recorded, and an empty outcome for the others.
type Known interface {
	Known(ctx context.Context, batch []scoreboard.Increment) ([]scoreboard.Outcome, error)
	Rejection(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) (*scoreboard.Error, error)
}

// Broker publishes accepted increments, keyed by user, and returns how many from
// the front are acknowledged.
type Broker interface {
	Accept(ctx context.Context, batch []scoreboard.Increment, at time.Time) (int, error)
}

// Marks and the ledger are optional: without them a repeat is published again,
// and recognised when it is recorded.
const (
	markTimeout   = 100 * time.Millisecond
	knownTimeout  = 250 * time.Millisecond
	brokerTimeout = 5 * time.Second
)

// The breaker of the marks opens after markFailures in a row, and then lets one
// call through in each markRetryInterval.
const (
	markFailures      = 3
	markRetryInterval = time.Second
)

// Acceptor publishes increments to Kafka and answers them with 202. It works
// without the store and without Redis: a repeat may then be published twice, and
// the ledger records it once.
type Acceptor struct {
	marks   Marks
	known   Known
	broker  Broker
	log     *slog.Logger
	breaker *breaker.Breaker // of marks
	calls   chan *accepting
	batch   int
	wait    time.Duration
}

// accepting is one increment that waits to be accepted.
type accepting struct {
	increment scoreboard.Increment
	outcome   scoreboard.Outcome
	done      chan struct{}
}

// NewAcceptor returns an acceptor with a bounded queue; Run starts it.
func NewAcceptor(o Options, m Marks, k Known, b Broker, log *slog.Logger) *Acceptor {
	return &Acceptor{
		marks: m, known: k, broker: b, log: log, breaker: breaker.New(markFailures, markRetryInterval, time.Now),
		calls: make(chan *accepting, o.Queue), batch: o.Batch, wait: o.Wait,
	}
}

// Accept returns no receipts if the increment is now pending, the original
// receipts if it was recorded before, or the reason why it is rejected.
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
		return nil, errUnknownOutcome(ctx.Err())
	}
}

// Run accepts batches until ctx ends and the queue is empty.
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
	a.produce(a.dedupe(batch))
	for _, c := range batch {
		close(c.done)
	}
}

// dedupe answers the events that are recorded or pending, and returns the others.
// It sets marks before it reads the ledger, so that an event recorded in between
// is found by one of the two.
func (a *Acceptor) dedupe(batch []*accepting) []*accepting {
	increments := make([]scoreboard.Increment, len(batch))
	for i, c := range batch {
		increments[i] = c.increment
	}
	marks := a.mark(increments)
	ctx, cancel := context.WithTimeout(context.Background(), knownTimeout)
	known, err := a.known.Known(ctx, increments)
	cancel()
	if err != nil {
		a.log.Debug("accepting without reading the ledger", "err", err)
		known = make([]scoreboard.Outcome, len(batch))
	}
	var fresh []*accepting
	var recorded []scoreboard.Increment // need no mark, but have just got one
	for i, c := range batch {
		switch {
		case known[i].Err != nil || known[i].Receipts != nil:
			c.outcome = known[i]
			if marks[i] == nil {
				recorded = append(recorded, c.increment)
			}
		case marks[i] != nil && *marks[i] != c.increment.PayloadHash():
			c.outcome.Err = scoreboard.Errorf(scoreboard.CodeEventConflict,
				"event %s was accepted with a different payload", c.increment.Event.Text)
		case marks[i] != nil: // pending already
		default:
			fresh = append(fresh, c)
		}
	}
	a.clear(recorded)
	return fresh
}

// mark marks increments as pending and returns the marks that existed before. It
// returns none if Redis does not answer in time, or the breaker is open.
func (a *Acceptor) mark(increments []scoreboard.Increment) []*[16]byte {
	if timeout, ok := a.breaker.Budget(markTimeout); ok {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		marks, err := a.marks.Pending(ctx, increments)
		a.breaker.Done(err == nil)
		if err == nil {
			return marks
		}
		a.log.Debug("accepting without marks", "err", err)
	}
	return make([]*[16]byte, len(increments))
}

// produce publishes increments. Those that are not acknowledged are rejected and
// lose their marks; otherwise a repeat would be answered as pending.
func (a *Acceptor) produce(fresh []*accepting) {
	if len(fresh) == 0 {
		return
	}
	increments := make([]scoreboard.Increment, len(fresh))
	for i, c := range fresh {
		increments[i] = c.increment
	}
	ctx, cancel := context.WithTimeout(context.Background(), brokerTimeout)
	defer cancel()
	n, err := a.broker.Accept(ctx, increments, time.Now())
	if err == nil {
		return
	}
	a.log.Warn("increments not accepted", "count", len(fresh)-n, "err", err)
	for _, c := range fresh[n:] {
		c.outcome.Err = &scoreboard.Error{
			Code: scoreboard.CodeUnavailable, Message: "Kafka is unavailable", RetryAfter: time.Second, Err: err,
		}
	}
	a.clear(increments[n:])
}

func (a *Acceptor) clear(batch []scoreboard.Increment) {
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), markTimeout)
	defer cancel()
	if err := a.marks.Clear(ctx, batch); err != nil {
		a.log.Debug("marks left to expire", "count", len(batch), "err", err)
	}
}

// Status returns the state of an event that has no receipt: pending, or the error
// that it was rejected with. If the event is unknown the error is not_found.
func (a *Acceptor) Status(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) (
	pending bool, rejected *scoreboard.Error, err error,
) {
	if rejected, err = a.known.Rejection(ctx, user, event); rejected != nil {
		return false, rejected, nil
	}
	if marked, markErr := a.marks.IsPending(ctx, user, event); markErr == nil && marked {
		return true, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	return false, nil, scoreboard.Errorf(scoreboard.CodeNotFound, "event %s of user %s not found", event.Text, user)
}
