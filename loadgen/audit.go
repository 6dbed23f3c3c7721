package loadgen

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The bounds of closing the book.
const (
	lookups     = 32              // at once
	mostUnknown = 100_000         // outcomes that are looked up
	mostAsked   = 20_000          // events that are looked up to explain wrong sums
	sampled     = 500             // acknowledged, and as many refused, events looked up in any case
	mostTime    = 5 * time.Minute // for all of it
)

// audit holds the book against the server after the load.
type audit struct {
	client *client.Client
	plan   *Plan
	draw   *draw
	book   *book
	extras map[string]int64 // users beside those of the plan, with the scores that they must have
	prober string           // who sent what is absent
	absent []string         // event ids that must not be recorded

	settle time.Duration // how long a score may take to appear

	measured map[string]float64
	notes    []string
	lost     map[uint64]bool // events that were acknowledged and are not there
	scores   map[string]int64
	short    map[string]bool // users with less than was acknowledged
}

// run does all of it. What it could not find out is not in measured.
func (a *audit) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, mostTime)
	defer cancel()
	a.lost = map[uint64]bool{}
	// The sums first: they wait for what is still on its way.
	for _, step := range []func(context.Context) error{a.resolve, a.sums, a.sample, a.absentees} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	a.count()
	return nil
}

// each does something for many, some at a time. The first error ends it.
func each[T any](ctx context.Context, of []T, do func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan T)
	var workers sync.WaitGroup
	for range min(lookups, len(of)) {
		workers.Go(func() {
			for item := range work {
				if err := do(ctx, item); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, item := range of {
		select {
		case work <- item:
		case <-ctx.Done():
		}
	}
	close(work)
	workers.Wait()
	return context.Cause(ctx)
}

// status looks an event up: its row of the ledger where it is done.
func (a *audit) status(ctx context.Context, user, id string) (status string, row protocol.Receipt, err error) {
	e, err := a.client.ReceiptOf(ctx, user, id)
	if scoreboard.CodeOf(err) == scoreboard.CodeNotFound {
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

// resolve finds out what became of increments whose answer did not come.
func (a *audit) resolve(ctx context.Context) error {
	var unknown []uint64
	for n := range a.book.unknown {
		if len(unknown) == mostUnknown {
			a.notes = append(a.notes, fmt.Sprintf("more than %d outcomes are unknown; only so many were looked up", mostUnknown))
			break
		}
		unknown = append(unknown, n)
	}
	var mu sync.Mutex
	err := each(ctx, unknown, func(ctx context.Context, n uint64) error {
		e := a.draw.event(n)
		status, row := protocol.StatusPending, protocol.Receipt{}
		for deadline := time.Now().Add(a.settle); status == protocol.StatusPending && time.Now().Before(deadline); {
			var err error
			if status, row, err = a.status(ctx, a.plan.name(e.user), e.id.String()); err != nil {
				return err
			}
			if status == protocol.StatusPending && !pause(ctx, 200*time.Millisecond) {
				return ctx.Err()
			}
		}
		mu.Lock()
		defer mu.Unlock()
		switch status {
		case protocol.StatusDone:
			*a.book.state(n) |= acked
			a.book.expected[e.user] += row.Applied
		case protocol.StatusPending:
		default:
			*a.book.state(n) |= refused
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look unknown outcomes up: %w", err)
	}
	if len(unknown) > 0 {
		a.notes = append(a.notes, fmt.Sprintf("%d outcomes that no answer told were looked up", len(unknown)))
	}
	left := 0
	for n := range a.book.unknown {
		left++
		a.book.touched[a.draw.event(n).user] = true
	}
	a.measured["unresolved"] = float64(left)
	return nil
}
