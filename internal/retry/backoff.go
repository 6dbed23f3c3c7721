package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// The bounds of a delay. The minimum is short, because most failures are a closed
// connection; the maximum bounds how late a recovered backend is noticed.
const (
	minDelay = 50 * time.Millisecond
	maxDelay = 5 * time.Second
)

// Delay returns the delay after a number of consecutive failures, from 1. It doubles
// each time within the bounds; the upper half is random, so that clients that failed
// together do not retry together.
func Delay(attempt int) time.Duration {
	limit := min(minDelay<<min(attempt-1, 10), maxDelay)
	return limit/2 + rand.N(limit/2)
}

// Wait waits for Delay or until ctx ends.
func Wait(ctx context.Context, attempt int) { Sleep(ctx, Delay(attempt)) }

// Sleep waits for d, and reports false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// resetAfter is how long a run must last for the next failure to count as the first.
const resetAfter = time.Minute

// Rerun calls run until ctx ends. After each failure it calls failed with the number
// of consecutive failures and waits.
func Rerun(ctx context.Context, run func(context.Context) error, failed func(attempt int, err error)) {
	for attempt := 0; ctx.Err() == nil; {
		started := time.Now()
		err := run(ctx)
		if err == nil {
			continue
		}
		if time.Since(started) > resetAfter {
			attempt = 0
		}
		attempt++
		failed(attempt, err)
		Wait(ctx, attempt)
	}
}
