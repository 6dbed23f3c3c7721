package ingest

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Markers remember events that are accepted and not recorded yet. A marker may be lost
// at any time.
type Markers interface {
	// Begin sets markers for events that are about to be published. For each it returns the
	// existing marker, which it keeps, or nil.
	Begin(ctx context.Context, batch []scoreboard.Increment) ([]*Marker, error)
	// Confirm turns the markers of published increments to produced.
	Confirm(ctx context.Context, batch []scoreboard.Increment) error
	// Abort removes the markers that Begin has set for these very increments, unless
	// they are confirmed.
	Abort(ctx context.Context, batch []scoreboard.Increment) error
	// Recorded removes the markers of events that are in the ledger.
	Recorded(ctx context.Context, batch []scoreboard.Increment) error
	// Rejected removes the markers of rejected increments, but not of later attempts.
	Rejected(ctx context.Context, batch []scoreboard.Increment) error
	// Find returns the marker of an event; nil if there is none.
	Find(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) (*Marker, error)
}

// Known looks up events without a lock. It returns receipts or a conflict for
// those that are recorded, and an empty outcome for the others.
type Known interface {
	Known(ctx context.Context, batch []scoreboard.Increment) ([]scoreboard.Outcome, error)
	// Rejection returns why an event was rejected after it had been accepted; nil if
	// it was not.
	Rejection(
		ctx context.Context, user scoreboard.UserID, event scoreboard.EventID,
	) (*scoreboard.Rejection, error)
}

// Broker publishes accepted increments, keyed by user, and returns how many from
// the front are acknowledged. The error has the code overloaded if the queue is full, and
// scoreboard.ErrNoConsumer in its chain if there is no intake.
type Broker interface {
	Accept(ctx context.Context, batch []scoreboard.Increment) (int, error)
}

// Backlog is what the queue holds for the intake.
type Backlog interface {
	// AwaitConsumed returns nil once everything that was published before the call is
	// consumed.
	AwaitConsumed(ctx context.Context) error
}

// Markers and the ledger are optional: without them a repeat is published again,
// and recognised when it is recorded.
const (
	markerTimeout  = 100 * time.Millisecond
	knownTimeout   = 250 * time.Millisecond
	brokerTimeout  = 5 * time.Second
	backlogTimeout = 1500 * time.Millisecond
)

// markerTrust is how long after its acceptance an event is pending because its marker says so.
// Then the queue is asked: it may have lost the event, and the marker is elsewhere.
const markerTrust = 10 * time.Second

// warnInterval is the shortest time between two warnings about increments that were not accepted.
const warnInterval = 10 * time.Second

// backlogWaits bounds the look-ups that wait for the backlog at once.
const backlogWaits = 32

// The breaker of the markers opens after markerFailures in a row, and then lets one
// call through in each markerRetryInterval.
const (
	markerFailures      = 3
	markerRetryInterval = time.Second
)

// Acceptor publishes increments to a queue and answers them with 202, which means
// that the queue has acknowledged them. It works without the store and without markers: a
// repeat may then be published twice, and the ledger records it once.
type Acceptor struct {
	markers Markers
	known   Known
	broker  Broker
	backlog Backlog
	now     func() time.Time
	log     *slog.Logger
	breaker *retry.Breaker // of markers
	calls   chan *accepting
	waits   chan struct{}
	batch   int
	wait    time.Duration

	warning    sync.Mutex
	warned     time.Time // when the last warning was logged
	suppressed int       // increments that were not accepted since, without a warning
}

// accepting is one increment that waits to be accepted.
type accepting struct {
	ctx       context.Context // of the caller: if it has ended, the increment is not published
	increment scoreboard.Increment
	outcome   scoreboard.Outcome
	done      chan struct{}
}

// NewAcceptor returns an acceptor with a bounded queue; Run starts it. now is the
// clock that decides the period of an increment.
func NewAcceptor(
	o Options, m Markers, k Known, b Broker, backlog Backlog, now func() time.Time, log *slog.Logger,
) *Acceptor {
	return &Acceptor{
		markers: m, known: k, broker: b, backlog: backlog, now: now, log: log,
		breaker: retry.NewBreaker(markerFailures, markerRetryInterval, time.Now),
		calls:   make(chan *accepting, o.Queue), waits: make(chan struct{}, backlogWaits),
		batch: o.Batch, wait: o.Wait,
	}
}

// Accept returns no receipts if the increment is now pending, the original
// receipts if it was recorded before, or the reason why it is rejected. If
// scoreboard.ErrNoConsumer is in the error's chain, no process has the role intake, and
// the caller must record the increment itself.
func (a *Acceptor) Accept(ctx context.Context, in scoreboard.Increment) ([]scoreboard.Receipt, error) {
	c := &accepting{ctx: ctx, increment: in, done: make(chan struct{})}
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
	batch := make([]*accepting, 0, min(len(a.calls)+1, a.batch))
gather:
	for c := first; ; {
		if c.ctx.Err() == nil {
			batch = append(batch, c)
		}
		if len(batch) == a.batch {
			break
		}
		select {
		case c = <-a.calls:
		default:
			break gather
		}
	}
	if len(batch) == 0 {
		return
	}
	at := a.now().UTC().Truncate(time.Microsecond)
	unique, repeats := unify(batch)
	for _, c := range unique {
		c.increment.Accepted = at
	}
	a.produce(a.dedupe(unique))
	for c, earlier := range repeats {
		c.outcome = c.follow(earlier)
	}
	for _, c := range batch {
		close(c.done)
	}
}

// unify returns the first call for each event, and maps each other call to it.
func unify(batch []*accepting) (unique []*accepting, repeats map[*accepting]*accepting) {
	type eventKey struct {
		user  scoreboard.UserID
		event [16]byte
	}
	first := make(map[eventKey]*accepting, len(batch))
	for _, c := range batch {
		k := eventKey{c.increment.User, c.increment.Event.UUID}
		earlier := first[k]
		if earlier == nil {
			first[k] = c
			unique = append(unique, c)
			continue
		}
		if repeats == nil {
			repeats = make(map[*accepting]*accepting)
		}
		repeats[c] = earlier
	}
	return unique, repeats
}

// follow returns the outcome of a call that came together with an earlier one for
// the same event.
func (c *accepting) follow(earlier *accepting) scoreboard.Outcome {
	same := c.increment.PayloadHash() == earlier.increment.PayloadHash()
	switch {
	case same:
		return scoreboard.Outcome{Receipts: slices.Clone(earlier.outcome.Receipts), Err: earlier.outcome.Err}
	case earlier.outcome.Err == nil:
		return scoreboard.Outcome{Err: errConflict(&c.increment)}
	}
	// The earlier payload was not accepted, so this one may be right.
	return scoreboard.Outcome{Err: &scoreboard.Error{
		Code: wire.CodeUnavailable, Message: "another request with this event_id was in progress; retry",
		RetryAfter: time.Second, Err: earlier.outcome.Err,
	}}
}

func errConflict(in *scoreboard.Increment) error {
	return scoreboard.Errorf(wire.CodeEventConflict,
		"event %s was submitted with a different payload", in.Event.Text)
}

// dedupe answers the events that are recorded or in the queue, and returns the others.
// It sets markers before it reads the ledger, so that an event recorded in between
// is found by one of the two. A marker that is not confirmed says only that somebody
// meant to publish the event, and one that is not recent, that the queue had it and may have
// lost it: it is published again.
func (a *Acceptor) dedupe(batch []*accepting) []*accepting {
	increments := incrementsOf(batch)
	markers := a.setMarkers(increments)
	ctx, cancel := context.WithTimeout(context.Background(), knownTimeout)
	known, err := a.known.Known(ctx, increments)
	cancel()
	if err != nil {
		a.log.Debug("accepting without reading the ledger", "err", err)
		known = make([]scoreboard.Outcome, len(batch))
	}
	var fresh []*accepting
	var recorded []scoreboard.Increment // need no marker, but have just got one
	for i, c := range batch {
		switch {
		case known[i].Err != nil || known[i].Receipts != nil:
			c.outcome = known[i]
			if markers[i] == nil {
				recorded = append(recorded, c.increment)
			}
		case markers[i] != nil && markers[i].Hash != c.increment.PayloadHash():
			c.outcome.Err = errConflict(&c.increment)
		case markers[i] != nil && markers[i].Produced && a.recent(markers[i]): // pending already
		default:
			fresh = append(fresh, c)
		}
	}
	a.update(recorded, a.markers.Abort)
	return fresh
}

// recent reports whether an event is pending because its marker says so.
func (a *Acceptor) recent(m *Marker) bool { return a.now().Sub(m.Accepted).Abs() < markerTrust }

func incrementsOf(batch []*accepting) []scoreboard.Increment {
	increments := make([]scoreboard.Increment, len(batch))
	for i, c := range batch {
		increments[i] = c.increment
	}
	return increments
}

// setMarkers sets markers for increments and returns those that existed before. It returns none
// if Redis does not answer in time, or the breaker is open.
func (a *Acceptor) setMarkers(increments []scoreboard.Increment) []*Marker {
	if timeout, ok := a.breaker.Budget(markerTimeout); ok {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		markers, err := a.markers.Begin(ctx, increments)
		a.breaker.Done(err == nil)
		if err == nil {
			return markers
		}
		a.log.Debug("accepting without markers", "err", err)
	}
	return make([]*Marker, len(increments))
}

// produce publishes increments. Those that are acknowledged have their markers
// confirmed. The others are rejected, and lose the markers that this process has set:
// a marker that another process has set or confirmed says something about its own
// attempt.
func (a *Acceptor) produce(fresh []*accepting) {
	if len(fresh) == 0 {
		return
	}
	increments := incrementsOf(fresh)
	ctx, cancel := context.WithTimeout(context.Background(), brokerTimeout)
	defer cancel()
	n, err := a.broker.Accept(ctx, increments)
	a.update(increments[:n], a.markers.Confirm)
	if err == nil {
		return
	}
	if !errors.Is(err, scoreboard.ErrNoConsumer) {
		a.warn(len(fresh)-n, err)
	}
	for _, c := range fresh[n:] {
		c.outcome.Err = notAccepted(err)
	}
	a.update(increments[n:], a.markers.Abort)
}

// warn logs that increments were not accepted, at most once in warnInterval: an outage fails
// many batches a second.
func (a *Acceptor) warn(count int, err error) {
	now := a.now()
	a.warning.Lock()
	defer a.warning.Unlock()
	if now.Sub(a.warned) < warnInterval {
		a.suppressed += count
		return
	}
	a.log.Warn("increments not accepted", "count", count, "err", err, "suppressed", a.suppressed)
	a.warned, a.suppressed = now, 0
}

// notAccepted returns the outcome of increments that the queue has not acknowledged.
func notAccepted(err error) error {
	var e *scoreboard.Error
	if errors.As(err, &e) && e.Code == wire.CodeOverloaded {
		return &scoreboard.Error{
			Code: e.Code, Message: "too many accepted increments are waiting", RetryAfter: e.RetryAfter, Err: err,
		}
	}
	return &scoreboard.Error{
		Code: wire.CodeUnavailable, Message: "the queue of accepted increments is unavailable; the outcome " +
			"may be unknown: retry with the same event_id", RetryAfter: time.Second, Err: err,
	}
}

// update changes markers with do. Without an answer they stay as they are: then a
// repeat is published again, and a look-up waits for the backlog.
func (a *Acceptor) update(batch []scoreboard.Increment, do func(context.Context, []scoreboard.Increment) error) {
	if len(batch) == 0 {
		return
	}
	timeout, ok := a.breaker.Budget(markerTimeout)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	err := do(ctx, batch)
	a.breaker.Done(err == nil)
	if err != nil {
		a.log.Debug("markers not updated", "count", len(batch), "err", err)
	}
}

// Status returns the state of an event that has no receipt: pending, or the error
// that it was rejected with; of an attempt that was accepted after a rejection,
// pending. If the event is unknown the error is not_found, and then it was not
// accepted before the call, or the queue has lost it: where no recent marker says that it is
// pending, Status waits until the intake has consumed what the queue holds. If that takes
// too long, the event is pending if it has a marker; otherwise the error is unavailable.
// The event may have been recorded meanwhile.
func (a *Acceptor) Status(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) (
	pending bool, rejected *scoreboard.Error, err error,
) {
	for waited := false; ; waited = true {
		marker, markerErr := a.find(ctx, user, event)
		rejection, err := a.known.Rejection(ctx, user, event)
		confirmed := marker != nil && marker.Produced
		undecided := confirmed && (rejection == nil || marker.Accepted.After(rejection.Accepted))
		switch {
		case undecided && (err != nil || a.recent(marker)):
			return true, nil, nil
		case err != nil:
			return false, nil, err
		case rejection != nil && (waited || confirmed && !undecided || marker == nil && markerErr == nil):
			return false, rejection.Reason, nil
		case waited:
			return false, nil, scoreboard.Errorf(wire.CodeNotFound,
				"event %s of user %s not found", event.Text, user)
		}
		if err := a.awaitBacklog(ctx); err != nil {
			if undecided {
				return true, nil, nil
			}
			return false, nil, err
		}
	}
}

var errNoMarkers = errors.New("the markers are not available")

// find returns the marker of an event; nil if there is none.
func (a *Acceptor) find(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) (*Marker, error) {
	timeout, ok := a.breaker.Budget(markerTimeout)
	if !ok {
		return nil, errNoMarkers
	}
	findCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	marker, err := a.markers.Find(findCtx, user, event)
	if ctx.Err() == nil {
		a.breaker.Done(err == nil)
	}
	return marker, err
}

// awaitBacklog waits until the intake has consumed everything that was published
// before the call, or returns unavailable.
func (a *Acceptor) awaitBacklog(ctx context.Context) error {
	select {
	case a.waits <- struct{}{}:
		defer func() { <-a.waits }()
	default:
		return overloaded(backlogTimeout)
	}
	ctx, cancel := context.WithTimeout(ctx, backlogTimeout)
	defer cancel()
	if err := a.backlog.AwaitConsumed(ctx); err != nil {
		return &scoreboard.Error{
			Code: wire.CodeUnavailable, Message: "the event is not known yet: accepted increments are waiting",
			RetryAfter: time.Second, Err: err,
		}
	}
	return nil
}
