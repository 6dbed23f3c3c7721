package ingest

import (
	"context"
	"hash/maphash"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Ledger records a batch in one transaction: an outcome for each, or an error
// where nothing is known to be written.
type Ledger interface {
	Record(ctx context.Context, batch []scoreboard.Increment) ([]scoreboard.Outcome, error)
}

// Ranker fills in the ranks of receipts as well as it can within its budget.
type Ranker interface {
	Rank(ctx context.Context, receipts []*scoreboard.Receipt)
}

// Options are the knobs of ingest.
type Options struct {
	Lanes int
	Batch int           // increments in one transaction
	Queue int           // increments that wait in one lane
	Wait  time.Duration // the longest wait that is accepted before a lane says overloaded
}

// Ingest takes increments.
type Ingest struct {
	o       Options
	ledger  Ledger
	ranker  Ranker
	commit  func() // told after every commit; never blocks
	log     *slog.Logger
	metrics *metrics
	seed    maphash.Seed
	lanes   []*lane
}

// New makes an Ingest; Run starts it.
func New(o Options, l Ledger, r Ranker, commit func(), log *slog.Logger) *Ingest {
	in := &Ingest{o: o, ledger: l, ranker: r, commit: commit, log: log, metrics: newMetrics(), seed: maphash.MakeSeed()}
	for range o.Lanes {
		in.lanes = append(in.lanes, &lane{
			ingest: in, calls: make(chan *call, o.Queue), answered: make(chan []*call, 4), over: make(chan struct{}),
		})
	}
	return in
}

// Submit records one increment and returns its receipts, one for each board.
// The caller's context ends only the waiting: what a transaction already holds
// may still be recorded, and a repeat will say so.
func (in *Ingest) Submit(ctx context.Context, inc scoreboard.Increment) ([]scoreboard.Receipt, error) {
	l := in.lanes[maphash.String(in.seed, string(inc.User))%uint64(len(in.lanes))]
	if wait := l.estimate(); wait > in.o.Wait {
		in.metrics.refused.Inc()
		return nil, overloaded(wait)
	}
	c := &call{ctx: ctx, increment: inc, entered: time.Now(), done: make(chan struct{})}
	select {
	case l.calls <- c:
	default:
		in.metrics.refused.Inc()
		return nil, overloaded(in.o.Wait)
	}
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

func overloaded(wait time.Duration) error {
	return &scoreboard.Error{Code: scoreboard.CodeOverloaded, Message: "too many increments are waiting", RetryAfter: max(wait, time.Second)}
}

// Run commits until ctx ends and answers what is waiting then.
func (in *Ingest) Run(ctx context.Context) error {
	var g errgroup.Group
	for _, l := range in.lanes {
		g.Go(func() error { l.commitAll(ctx); return nil })
		g.Go(func() error { l.answerAll(ctx); return nil })
	}
	return g.Wait()
}
