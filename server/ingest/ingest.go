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

// Options are the settings of ingest.
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
		l := &lane{
			ingest: in, calls: make(chan *call, o.Queue), answered: make(chan []*call, 4), over: make(chan struct{}),
		}
		l.aside = newAside(l)
		in.lanes = append(in.lanes, l)
	}
	return in
}

// Submit records one increment and returns its receipts, one for each board.
// The caller's context ends only the waiting: what a transaction already holds
// may still be recorded, and a repeat will say so.
func (in *Ingest) Submit(ctx context.Context, inc scoreboard.Increment) ([]scoreboard.Receipt, error) {
	l := in.laneOf(inc.User)
	c, err := l.enter(ctx, inc)
	if err != nil {
		return nil, err
	}
	return l.await(ctx, c)
}

// SubmitAll records many increments, in their order for each user, and returns
// an outcome for each.
func (in *Ingest) SubmitAll(ctx context.Context, incs []scoreboard.Increment) []scoreboard.Outcome {
	outcomes := make([]scoreboard.Outcome, len(incs))
	calls := make([]*call, len(incs))
	for i := range incs {
		calls[i], outcomes[i].Err = in.laneOf(incs[i].User).enter(ctx, incs[i])
	}
	for i, c := range calls {
		if c != nil {
			outcomes[i].Receipts, outcomes[i].Err = in.laneOf(incs[i].User).await(ctx, c)
		}
	}
	return outcomes
}

func (in *Ingest) laneOf(user scoreboard.UserID) *lane {
	return in.lanes[maphash.String(in.seed, string(user))%uint64(len(in.lanes))]
}

func overloaded(wait time.Duration) error {
	return &scoreboard.Error{Code: scoreboard.CodeOverloaded, Message: "too many increments are waiting", RetryAfter: max(wait, time.Second)}
}

// Run commits until ctx ends and answers what is waiting then.
func (in *Ingest) Run(ctx context.Context) error {
	var g errgroup.Group
	for _, l := range in.lanes {
		g.Go(func() error { l.commitAll(ctx); return nil })
		g.Go(func() error { defer close(l.answered); l.aside.run(); return nil })
		g.Go(func() error { l.answerAll(ctx); return nil })
	}
	return g.Wait()
}
