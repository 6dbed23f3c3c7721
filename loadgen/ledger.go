package loadgen

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// sample looks some acknowledged events up in the ledger, and some refused.
func (a *audit) sample(ctx context.Context) error {
	var ackedOnes, refusedOnes []uint64
	for range 20 * sampled {
		if len(a.book.events) == 0 {
			break
		}
		n := rand.Uint64N(uint64(len(a.book.events)))
		switch s := a.book.events[n]; {
		case s&acked != 0 && len(ackedOnes) < sampled:
			ackedOnes = append(ackedOnes, n)
		case s&acked == 0 && s&refused != 0 && len(refusedOnes) < sampled:
			refusedOnes = append(refusedOnes, n)
		}
	}
	found := 0
	var mu sync.Mutex
	err := each(ctx, ackedOnes, func(ctx context.Context, n uint64) error {
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
	if len(ackedOnes) > 0 {
		a.measured["audit.found"] = 100 * float64(found) / float64(len(ackedOnes))
	}
	wrong := 0
	err = each(ctx, refusedOnes, func(ctx context.Context, n uint64) error {
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
