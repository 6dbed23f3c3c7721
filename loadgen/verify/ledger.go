package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/loadgen/codec"
)

// sample keeps sampleSize numbers of a stream, each with the same probability
// (reservoir sampling, algorithm R), or all numbers of a shorter stream.
type sample struct {
	kept  []uint64
	total uint64
}

func (s *sample) add(n uint64) {
	s.total++
	if len(s.kept) < sampleSize {
		s.kept = append(s.kept, n)
	} else if at := rand.Uint64N(s.total); at < sampleSize {
		s.kept[at] = n
	}
}

// sampleEvents looks up a sample of acknowledged and of rejected events.
func (v *Verifier) sampleEvents(ctx context.Context) error {
	var acked, rejected sample
	for n, s := range v.Tracker.Events() {
		switch {
		case s&Acked != 0:
			acked.add(n)
		case s&Rejected != 0:
			rejected.add(n)
		}
	}
	found, wrong := 0, 0
	var mu sync.Mutex
	err := forEach(ctx, acked.kept, func(ctx context.Context, n uint64) error {
		recorded, complete, err := v.recorded(ctx, n)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
		case recorded && complete, !recorded && !v.Tracker.MustBeRecorded(n):
			found++
		case !recorded:
			v.lost[n] = true
		case !v.Plan.RecordsAll(): // a score that is not higher leaves nothing behind
			wrong++
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look up acknowledged events: %w", err)
	}
	if acked.total > 0 {
		v.Measured["audit.found"] = 100 * float64(found) / float64(len(acked.kept))
	}
	err = forEach(ctx, rejected.kept, func(ctx context.Context, n uint64) error {
		e := v.Events.At(n)
		status, _, err := v.status(ctx, v.Plan.UserID(e.User), codec.EventID(v.Plan, &e))
		mu.Lock()
		defer mu.Unlock()
		if status == wire.StatusDone {
			wrong++
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look up rejected events: %w", err)
	}
	v.Measured["rejected.recorded"] = float64(wrong)
	return nil
}

// recorded reports whether an acknowledged event is in the ledger, and whether its
// row is complete.
func (v *Verifier) recorded(ctx context.Context, n uint64) (recorded, complete bool, err error) {
	e := v.Events.At(n)
	status, row, err := v.settledStatus(ctx, &e)
	return status == wire.StatusDone, v.isComplete(row, v.Tracker.Delta(&e)), err
}

// isComplete reports whether a row of the ledger is an audit trail of an
// increment, or of a score where the best one is kept: the scores before and after it,
// their difference, and its time.
func (v *Verifier) isComplete(row wire.Receipt, delta int64) bool {
	before, after := int64(0), delta // of a user's first score
	if row.PreviousScore != nil {
		before = *row.PreviousScore
		after = before + delta
	}
	higher := row.PreviousScore == nil || delta > before
	switch {
	case row.Version <= 0 || row.RecordedAt.IsZero():
		return false
	case !v.Plan.KeepsBest():
		return row.PreviousScore != nil && row.Applied == delta && row.NewScore == after
	case higher:
		return row.NewScore == delta && row.Applied == delta-before
	}
	return v.Plan.RecordsAll() && row.NewScore == before && row.Applied == 0
}

// checkProbes looks up the probes that were rejected.
func (v *Verifier) checkProbes(ctx context.Context) error {
	for _, id := range v.RejectedProbes {
		status, _, err := v.status(ctx, v.ProbeUser, id)
		if err != nil {
			return fmt.Errorf("look up a rejected probe: %w", err)
		}
		if status == wire.StatusDone {
			v.Measured["rejected.recorded"]++
		}
	}
	return nil
}
