// Package backoff says how long a station waits before it tries again.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// The bounds of a delay. The first is short, because most failures are a
// connection that has just been closed; the last is what a backend that comes
// back after an hour is noticed within.
const (
	least = 50 * time.Millisecond
	most  = 5 * time.Second
)

// Delay is how long to wait after attempt failures in a row, 1 being the
// first: twice as long each time, within the bounds, the upper half of it
// random, so that those who failed together do not come back together.
func Delay(attempt int) time.Duration {
	limit := min(least<<min(attempt-1, 10), most)
	return limit/2 + rand.N(limit/2)
}

// Wait waits Delay, or until ctx ends.
func Wait(ctx context.Context, attempt int) {
	t := time.NewTimer(Delay(attempt))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// longEnough is how long something must have worked for its next failure to
// count as the first again.
const longEnough = time.Minute

// Keep runs run until ctx ends, again after each failure, which it tells with
// how many there were in a row.
func Keep(ctx context.Context, run func(context.Context) error, failed func(attempt int, err error)) {
	for attempt := 0; ctx.Err() == nil; {
		started := time.Now()
		err := run(ctx)
		if err == nil {
			continue
		}
		if time.Since(started) > longEnough {
			attempt = 0
		}
		attempt++
		failed(attempt, err)
		Wait(ctx, attempt)
	}
}
