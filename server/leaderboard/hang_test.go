package leaderboard_test

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

var global = &scoreboard.Board{ID: "global", Family: "global", Order: scoreboard.OrderHighest, Public: true}

type oneBoard struct{}

func (oneBoard) Board(_ context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	return &scoreboard.Board{ID: id}, nil
}

// hanging is a ranking that does not answer while hangs is set, and returns err
// otherwise.
type hanging struct {
	hangs atomic.Bool
	err   error
}

func (h *hanging) wait(ctx context.Context) error {
	if h.hangs.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return h.err
}

func (h *hanging) Top(ctx context.Context, id *scoreboard.Board) (*scoreboard.Top, error) {
	return &scoreboard.Top{Board: id.ID}, h.wait(ctx)
}

func (h *hanging) Page(
	ctx context.Context,
	id *scoreboard.Board,
	_ *scoreboard.Position,
	_ int,
) (*scoreboard.Top, error) {
	return h.Top(ctx, id)
}

func (h *hanging) List(ctx context.Context, id *scoreboard.Board, _ []scoreboard.UserID) (*scoreboard.List, error) {
	return &scoreboard.List{Board: id.ID}, h.wait(ctx)
}

func (h *hanging) Place(
	ctx context.Context,
	_ *scoreboard.Board,
	user scoreboard.UserID,
	_ int,
) (*scoreboard.Place, error) {
	return &scoreboard.Place{User: user, Rank: 1}, h.wait(ctx)
}

func (h *hanging) Ranks(
	ctx context.Context,
	_ *scoreboard.Board,
	users []scoreboard.UserID,
	_ []*scoreboard.Pair,
) ([]*int64, error) {
	return make([]*int64, len(users)), h.wait(ctx)
}

func (h *hanging) Around(
	ctx context.Context, id *scoreboard.Board, _ *scoreboard.Position, _, _ int,
) (*scoreboard.Top, error) {
	return &scoreboard.Top{Board: id.ID, Total: 6}, h.wait(ctx)
}

// plainFallback answers at once.
type plainFallback struct{}

func (plainFallback) Scores(
	_ context.Context, _ *scoreboard.Board, users []scoreboard.UserID,
) ([]scoreboard.Place, error) {
	return []scoreboard.Place{{User: users[0]}}, nil
}

func (plainFallback) Page(
	_ context.Context, b *scoreboard.Board, _ *scoreboard.Position, _ int,
) (*scoreboard.Top, error) {
	return &scoreboard.Top{Board: b.ID}, nil
}

func (plainFallback) List(_ context.Context, b *scoreboard.Board, _ []scoreboard.UserID) (*scoreboard.List, error) {
	return &scoreboard.List{Board: b.ID}, nil
}

func (plainFallback) HasStanding(context.Context, scoreboard.BoardID, scoreboard.UserID) (bool, error) {
	return true, nil
}

func (plainFallback) RankOf(context.Context, *scoreboard.Board, scoreboard.Pair) (int64, error) {
	return 7, nil
}

func (plainFallback) Place(
	_ context.Context,
	_ *scoreboard.Board,
	user scoreboard.UserID,
	_ int,
) (*scoreboard.Place, error) {
	return &scoreboard.Place{User: user, Rank: 7}, nil
}

func newHanging(h *hanging) (*leaderboard.Leaderboard, *leaderboard.Ranker) {
	l := leaderboard.New(leaderboard.Options{
		Catalog:        oneBoard{},
		Ranking:        h,
		Fallback:       plainFallback{},
		TriggerRebuild: func() {},
		Log:            slog.New(slog.DiscardHandler),
	})
	return l, leaderboard.NewRanker(l)
}

// latencies times calls of do until d has passed.
func latencies(d time.Duration, do func()) []time.Duration {
	var took []time.Duration
	for began := time.Now(); time.Since(began) < d; time.Sleep(time.Millisecond) {
		before := time.Now()
		do()
		took = append(took, time.Since(before))
	}
	slices.Sort(took)
	return took
}

// A hanging ranking costs a few requests its timeout and not every one; reads and
// receipts come from the store meanwhile, and both recover.
func TestHangingRankingIsNotCalled(t *testing.T) {
	t.Parallel()
	type request = func(*testing.T, *leaderboard.Leaderboard, *leaderboard.Ranker, bool)
	read := func(do func(*leaderboard.Leaderboard) (degraded string, err error)) request {
		return func(t *testing.T, l *leaderboard.Leaderboard, _ *leaderboard.Ranker, hangs bool) {
			if degraded, err := do(l); err != nil || hangs != (degraded == "ranking_unavailable") {
				t.Errorf("got degraded %q, %v; the ranking hangs: %t", degraded, err, hangs)
			}
		}
	}
	cases := map[string]struct {
		budget time.Duration
		do     func(*testing.T, *leaderboard.Leaderboard, *leaderboard.Ranker, bool)
	}{
		"top": {500 * time.Millisecond, read(func(l *leaderboard.Leaderboard) (string, error) {
			top, err := l.ReadTop(ctx, "global")
			return top.Degraded, err
		})},
		"place": {500 * time.Millisecond, read(func(l *leaderboard.Leaderboard) (string, error) {
			place, err := l.Place(ctx, global, "alice", 0, 0)
			return place.Degraded, err
		})},
		"receipts": {
			50 * time.Millisecond,
			func(t *testing.T, _ *leaderboard.Leaderboard, r *leaderboard.Ranker, hangs bool) {
				receipt := scoreboard.Receipt{Board: "global", User: "alice"}
				began := time.Now()
				r.Rank(ctx, []*scoreboard.Receipt{&receipt})
				if waited := time.Since(began) > 40*time.Millisecond; hangs && !waited &&
					(receipt.Rank == nil || *receipt.Rank != 7) {
					t.Errorf("got rank %v, want the store's", receipt.Rank)
				}
				if !hangs && receipt.Rank != nil {
					t.Errorf("got rank %d, want none, as the ranking has", *receipt.Rank)
				}
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &hanging{}
			l, r := newHanging(h)
			c.do(t, l, r, false)
			h.hangs.Store(true)
			for range 3 {
				c.do(t, l, r, true)
			}
			took := latencies(2500*time.Millisecond, func() { c.do(t, l, r, true) })
			if p95 := took[len(took)*95/100]; p95 > 10*time.Millisecond {
				t.Errorf("p95 is %s, want below the budget of %s", p95, c.budget)
			}
			if longest := took[len(took)-1]; longest > 150*time.Millisecond {
				t.Errorf("the longest took %s, want at most one probe", longest)
			}
			h.hangs.Store(false)
			time.Sleep(1100 * time.Millisecond) // the pause, after which a call probes it
			c.do(t, l, r, false)
		})
	}
}

// Not loaded and not found are answers, not failures.
func TestNegativeAnswersKeepBreakerClosed(t *testing.T) {
	t.Parallel()
	for name, no := range map[string]error{
		"not loaded": scoreboard.ErrNotLoaded, "not found": scoreboard.Errorf(wire.CodeNotFound, "no such user"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &hanging{err: no}
			l, _ := newHanging(h)
			for range 10 {
				place, err := l.Place(ctx, global, "alice", 0, 0)
				if err != nil || place.Degraded == "ranking_unavailable" || place.Degraded == "" {
					t.Fatalf("got %+v, %v", place, err)
				}
			}
		})
	}
}

// A caller that hangs up early does not open the breaker.
func TestCanceledReadKeepsBreakerClosed(t *testing.T) {
	t.Parallel()
	h := &hanging{}
	l, _ := newHanging(h)
	h.hangs.Store(true)
	for range 10 {
		impatient, cancel := context.WithCancel(ctx)
		time.AfterFunc(5*time.Millisecond, cancel)
		_, _ = l.List(impatient, global, []scoreboard.UserID{"alice"})
	}
	h.hangs.Store(false)
	if place, err := l.Place(ctx, global, "alice", 0, 0); err != nil || place.Degraded != "" {
		t.Errorf("got %+v, %v, want the ranking's answer", place, err)
	}
}
