package ingest

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/tracing"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Recorder records a batch in one transaction. It returns an outcome for each
// increment, or an error if it is not known that anything was written.
type Recorder interface {
	Record(ctx context.Context, batch []scoreboard.Increment) ([]scoreboard.Outcome, error)
}

// Ranker sets the ranks of receipts, as far as it can within its time limit.
type Ranker interface {
	Rank(ctx context.Context, receipts []*scoreboard.Receipt)
}

// Options are the settings of ingest.
type Options struct {
	Lanes int
	Batch int           // increments in one transaction
	Queue int           // maximum of increments waiting in one lane
	Wait  time.Duration // maximum estimated wait: a lane beyond it is overloaded
	// Tracer makes the spans of batches with sampled increments; nil makes none.
	Tracer *tracing.Tracer
}

// Ingest records increments.
type Ingest struct {
	o         Options
	recorder  Recorder
	ranker    Ranker
	committed func() // called after every commit; never blocks
	log       *slog.Logger
	metrics   *metrics
	lanes     []*lane
}

// New returns an Ingest; Run starts it. committed is called after every commit,
// and must not block.
func New(o Options, to Recorder, r Ranker, committed func(), log *slog.Logger) *Ingest {
	in := &Ingest{
		o: o, recorder: to, ranker: r, committed: committed, log: log, metrics: newMetrics(),
	}
	for range o.Lanes {
		l := &lane{
			ingest: in, calls: make(chan *call, o.Queue), answered: make(chan []*call, 4), done: make(chan struct{}),
		}
		l.locked = newLockedQueue(l)
		in.lanes = append(in.lanes, l)
	}
	return in
}

// Submit records one increment and returns its receipts, one for each board.
// The caller's context ends only the wait: an increment that is in a transaction
// may still be recorded, and a repeat then returns its receipts.
func (in *Ingest) Submit(ctx context.Context, inc scoreboard.Increment) ([]scoreboard.Receipt, error) {
	var one struct {
		call call
		of   submission
	}
	one.call = call{of: &one.of, ctx: ctx, increment: inc, entered: time.Now()}
	one.of.done = make(chan struct{})
	one.of.left.Store(1)
	l := in.laneOf(inc.User)
	if err := l.enter(&one.call); err != nil {
		return nil, err
	}
	return l.await(&one.call)
}

// SubmitAll records many increments, in order for each user, and returns an
// outcome for each.
func (in *Ingest) SubmitAll(ctx context.Context, incs []scoreboard.Increment) []scoreboard.Outcome {
	outcomes, calls := make([]scoreboard.Outcome, len(incs)), make([]call, len(incs))
	all, entered := &submission{done: make(chan struct{})}, time.Now()
	all.left.Store(int64(len(incs)))
	for i := range incs {
		c := &calls[i]
		c.of, c.ctx, c.increment, c.entered = all, ctx, incs[i], entered
		if outcomes[i].Err = in.laneOf(incs[i].User).enter(c); outcomes[i].Err != nil {
			all.leave()
		}
	}
	for i := range calls {
		if outcomes[i].Err == nil {
			outcomes[i].Receipts, outcomes[i].Err = in.laneOf(incs[i].User).await(&calls[i])
		}
	}
	return outcomes
}

func (in *Ingest) laneOf(user scoreboard.UserID) *lane { return in.lanes[laneOf(user, len(in.lanes))] }

// errUnknownOutcome tells a caller whose context has ended that its increment may
// still be recorded.
func errUnknownOutcome(cause error) error {
	return &scoreboard.Error{
		Code: wire.CodeUnavailable, Message: "the outcome is unknown; retry with the same event_id",
		RetryAfter: time.Second, Err: cause,
	}
}

func overloaded(wait time.Duration) error {
	return &scoreboard.Error{
		Code: wire.CodeOverloaded, Message: "too many increments are waiting", RetryAfter: max(wait, time.Second),
	}
}

// Run commits until ctx ends, and then what is waiting.
func (in *Ingest) Run(ctx context.Context) error {
	var g errgroup.Group
	for _, l := range in.lanes {
		g.Go(func() error { l.commitAll(ctx); return nil })
		g.Go(func() error { defer close(l.answered); l.locked.run(); return nil })
		g.Go(func() error { l.answerAll(ctx); return nil })
	}
	return g.Wait()
}
