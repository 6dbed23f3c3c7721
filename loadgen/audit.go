package loadgen

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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

// status looks an event up: its applied delta where it is done.
func (a *audit) status(ctx context.Context, user, id string) (status string, applied int64, err error) {
	e, err := a.client.EventOf(ctx, user, id)
	if scoreboard.CodeOf(err) == scoreboard.CodeNotFound {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, err
	}
	if len(e.Receipts) == 1 {
		applied = e.Receipts[0].Applied
	}
	return e.Status, applied, nil
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
		status, applied := protocol.StatusPending, int64(0)
		for deadline := time.Now().Add(a.settle); status == protocol.StatusPending && time.Now().Before(deadline); {
			var err error
			if status, applied, err = a.status(ctx, a.plan.name(e.user), e.id.String()); err != nil {
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
			a.book.expected[e.user] += applied
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
		status, applied, err := a.status(ctx, a.plan.name(e.user), e.id.String())
		if err != nil || status != protocol.StatusPending || time.Now().After(deadline) {
			return status == protocol.StatusDone, applied == want, err
		}
		if !pause(ctx, 200*time.Millisecond) {
			return false, false, ctx.Err()
		}
	}
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

// expected are the scores that the server must have, of users who have one.
func (a *audit) expected() map[string]int64 {
	want := make(map[string]int64, len(a.book.expected))
	for user, score := range a.book.expected {
		if score != 0 && !a.book.touched[user] {
			want[a.plan.name(uint64(user))] = score
		}
	}
	for user, score := range a.extras {
		want[user] = score
	}
	return want
}

// sums reads the score of every user and compares it with the book.
func (a *audit) sums(ctx context.Context) error {
	want := a.expected()
	users := make([]string, 0, len(want))
	for user := range want {
		users = append(users, user)
	}
	slices.Sort(users)
	a.scores = make(map[string]int64, len(users))
	var mu sync.Mutex
	read := func(ctx context.Context, user string) error {
		place, err := a.client.Score(ctx, user, client.PlaceQuery{})
		if err != nil && scoreboard.CodeOf(err) != scoreboard.CodeNotFound {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		a.scores[user] = place.Score // 0 where there is none
		return nil
	}
	wrong := users
	for deadline := time.Now().Add(a.settle); ; {
		if err := each(ctx, wrong, read); err != nil {
			return fmt.Errorf("read the scores: %w", err)
		}
		wrong = slices.DeleteFunc(slices.Clone(wrong), func(u string) bool { return a.scores[u] == want[u] })
		if len(wrong) == 0 || time.Now().After(deadline) {
			break
		}
		if !pause(ctx, 500*time.Millisecond) {
			return ctx.Err()
		}
	}
	return a.explain(ctx, wrong, want)
}

// explain finds the events behind sums that are wrong.
func (a *audit) explain(ctx context.Context, wrong []string, want map[string]int64) error {
	a.short = map[string]bool{}
	for i, user := range wrong {
		if i < 5 {
			a.notes = append(a.notes, fmt.Sprintf("%s has %d, and was told %d", user, a.scores[user], want[user]))
		}
		if a.scores[user] < want[user] {
			a.short[user] = true
		}
	}
	var suspects []uint64
	for n, s := range a.book.events {
		if len(a.short) == 0 || len(suspects) == mostAsked {
			break
		}
		if s&acked != 0 && a.short[a.plan.name(a.draw.event(uint64(n)).user)] {
			suspects = append(suspects, uint64(n))
		}
	}
	var mu sync.Mutex
	err := each(ctx, suspects, func(ctx context.Context, n uint64) error {
		there, _, err := a.recorded(ctx, n)
		mu.Lock()
		defer mu.Unlock()
		if !there && err == nil {
			a.lost[n] = true
		}
		return err
	})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("look for lost events: %w", err)
	}
	a.measured["doubled"] = float64(a.book.doubled) + float64(len(wrong)-len(a.short))
	return nil
}

// count says how many increments were lost. A score that is short although its
// events are there has lost one at least.
func (a *audit) count() {
	explained := map[string]bool{}
	for n := range a.lost {
		explained[a.plan.name(a.draw.event(n).user)] = true
	}
	lost := len(a.lost)
	for user := range a.short {
		if !explained[user] {
			lost++
		}
	}
	a.measured["lost"] = float64(lost)
}

// tallies are the shares of what had to be refused; none where nothing was sent.
func (b *book) tallies() map[string]float64 {
	m := map[string]float64{}
	for name, t := range map[string]tally{"replays.rejected": b.replays, "conflicts.rejected": b.conflict, "signatures.rejected": b.forged} {
		if t.of > 0 {
			m[name] = 100 * float64(t.rejected) / float64(t.of)
		}
	}
	return m
}
