package verify

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/loadgen/codec"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// Limits of a verification.
const (
	// Lookups is the number of concurrent requests.
	Lookups       = 32
	maxUnresolved = 100_000 // outcomes that are looked up
	maxSuspects   = 20_000  // events that are looked up to explain wrong scores
	sampleSize    = 500     // acknowledged events that are looked up in any case, and as many rejected ones
	maxDuration   = 5 * time.Minute
	maxDrain      = 2 * time.Minute // for scores to become what they must be
	pollInterval  = 200 * time.Millisecond
)

// Verifier compares a server with the outcomes of a run.
type Verifier struct {
	Client  *client.Client
	Plan    *plan.Plan
	Events  *plan.Events
	Tracker *Tracker
	// Board is where users play that have none in the plan; "" is the default board.
	Board string
	// Shown reads the first rows of Board, at most limit, from another API that must show
	// the same. nil: there is none.
	Shown func(ctx context.Context) (rows []client.Entry, limit int, err error)
	// Extras are users outside the plan, with the scores that they must have.
	Extras map[string]int64
	// ProbeUser sent the events RejectedProbes, which must not be recorded.
	ProbeUser      string
	RejectedProbes []string
	Settle         time.Duration // how long a score may take to appear
	// Measured receives the results. Notes explain them.
	Measured record.Measured
	Notes    []string

	lost   map[uint64]bool // events that were acknowledged and are not recorded
	scores map[string]int64
	short  map[string]bool // users with a lower score than was acknowledged
}

// Run verifies the events and the scores.
func (v *Verifier) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxDuration)
	defer cancel()
	v.lost = map[uint64]bool{}
	// Scores come before the samples, because they wait for pending events.
	for _, step := range []func(context.Context) error{v.resolve, v.checkScores, v.sampleEvents, v.checkProbes} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	v.countLost()
	return nil
}

// forEach calls do for all items, with Lookups of them at a time. The first error
// ends it.
func forEach[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan T)
	var workers sync.WaitGroup
	for range min(Lookups, len(items)) {
		workers.Go(func() {
			for item := range work {
				if err := do(ctx, item); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, item := range items {
		select {
		case work <- item:
		case <-ctx.Done():
		}
	}
	close(work)
	workers.Wait()
	return context.Cause(ctx)
}

// status looks an event up: its status, "" if unknown, and the receipt of an event
// that is done.
func (v *Verifier) status(ctx context.Context, user, id string) (status string, row wire.Receipt, err error) {
	e, err := v.Client.ReceiptOf(ctx, user, id)
	if wire.CodeOf(err) == wire.CodeNotFound {
		return "", row, nil
	}
	if err != nil {
		return "", row, err
	}
	if len(e.Receipts) == 1 {
		row = e.Receipts[0]
	}
	return e.Status, row, nil
}

// settledStatus is status once the event is no longer pending, or Settle is over.
func (v *Verifier) settledStatus(ctx context.Context, e *plan.Event) (status string, row wire.Receipt, err error) {
	for deadline := time.Now().Add(v.Settle); ; {
		status, row, err = v.status(ctx, v.Plan.UserID(e.User), codec.EventID(v.Plan, e))
		if err != nil || status != wire.StatusPending || time.Now().After(deadline) {
			return status, row, err
		}
		if !retry.Sleep(ctx, pollInterval) {
			return status, row, ctx.Err()
		}
	}
}

// resolve looks up the outcomes of increments without a response.
func (v *Verifier) resolve(ctx context.Context) error {
	var unresolved []uint64
	for n := range v.Tracker.Unresolved() {
		if len(unresolved) == maxUnresolved {
			v.Notes = append(
				v.Notes,
				fmt.Sprintf("more than %d outcomes are unknown; the others were not looked up", maxUnresolved),
			)
			break
		}
		unresolved = append(unresolved, n)
	}
	var mu sync.Mutex
	err := forEach(ctx, unresolved, func(ctx context.Context, n uint64) error {
		e := v.Events.At(n)
		status, row, err := v.settledStatus(ctx, &e)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if status != wire.StatusPending {
			delta := row.Applied
			if v.Plan.KeepsBest() {
				delta = e.Delta
			}
			v.Tracker.Resolve(n, e.User, status == wire.StatusDone, delta)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look up unknown outcomes: %w", err)
	}
	if len(unresolved) > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("looked up %s without a response",
			english.Count(len(unresolved), "outcome")))
	}
	left := 0
	for n := range v.Tracker.Unresolved() {
		left++
		v.Tracker.Uncertain[v.Events.At(n).User] = true
	}
	v.Measured["unresolved"] = float64(left)
	return nil
}
