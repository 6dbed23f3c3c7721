package loadgen

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// some keeps so many numbers of a stream, each with the same chance (reservoir
// sampling, Vitter's algorithm R); all of them where there are no more.
type some struct {
	kept []uint64
	of   uint64
}

func (s *some) offer(n uint64) {
	s.of++
	if len(s.kept) < sampled {
		s.kept = append(s.kept, n)
	} else if at := rand.Uint64N(s.of); at < sampled {
		s.kept[at] = n
	}
}

// sample looks some acknowledged events up in the ledger, and some refused.
func (a *audit) sample(ctx context.Context) error {
	var ackedOnes, refusedOnes some
	for n, s := range a.book.events {
		switch {
		case s&acked != 0:
			ackedOnes.offer(uint64(n))
		case s&refused != 0:
			refusedOnes.offer(uint64(n))
		}
	}
	found := 0
	var mu sync.Mutex
	err := each(ctx, ackedOnes.kept, func(ctx context.Context, n uint64) error {
		there, right, err := a.recorded(ctx, n)
		mu.Lock()
		defer mu.Unlock()
		if there && right {
			found++
		}
		if !there && err == nil {
			a.lost[n] = true
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look acknowledged events up: %w", err)
	}
	if ackedOnes.of > 0 {
		a.measured["audit.found"] = 100 * float64(found) / float64(len(ackedOnes.kept))
	}
	wrong := 0
	err = each(ctx, refusedOnes.kept, func(ctx context.Context, n uint64) error {
		e := a.draw.event(n)
		status, _, err := a.status(ctx, a.plan.name(e.user), e.id.String())
		mu.Lock()
		defer mu.Unlock()
		if status == protocol.StatusDone {
			wrong++
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look refused events up: %w", err)
	}
	a.measured["refused.recorded"] = float64(wrong)
	return nil
}

// recorded says whether an acknowledged event is in the ledger, and as it was
// sent. What was accepted for later may be pending a while.
func (a *audit) recorded(ctx context.Context, n uint64) (there, right bool, err error) {
	e := a.draw.event(n)
	want := e.delta
	if odd, ok := a.book.odd[n]; ok {
		want = odd
	}
	for deadline := time.Now().Add(a.settle); ; {
		status, row, err := a.status(ctx, a.plan.name(e.user), e.id.String())
		if err != nil || status != protocol.StatusPending || time.Now().After(deadline) {
			return status == protocol.StatusDone, tells(row, want), err
		}
		if !pause(ctx, 200*time.Millisecond) {
			return false, false, ctx.Err()
		}
	}
}

// tells says whether a row of the ledger is an audit trail of an increment: how
// much it was, what it made of which score, and when.
func tells(row protocol.Receipt, delta int64) bool {
	return row.Applied == delta && row.PreviousScore != nil && row.NewScore == *row.PreviousScore+delta && row.Version > 0 && !row.RecordedAt.IsZero()
}

// absentees are the probes that were refused.
func (a *audit) absentees(ctx context.Context) error {
	for _, id := range a.absent {
		status, _, err := a.status(ctx, a.prober, id)
		if err != nil {
			return fmt.Errorf("look a refused probe up: %w", err)
		}
		if status == protocol.StatusDone {
			a.measured["refused.recorded"]++
		}
	}
	return nil
}
