package breaker

import (
	"sync/atomic"
	"time"
)

// ProbeBudget bounds a probe: somebody's request waits for it, and in a pause
// there is one. A backend that answers more slowly than this stays shut out
// once it is.
const ProbeBudget = 50 * time.Millisecond

// Breaker opens after failures in a row and then lets one caller in each pause
// probe whether the backend is back.
type Breaker struct {
	limit int64
	pause time.Duration
	now   func() time.Time
	start time.Time

	failures atomic.Int64 // in a row
	retry    atomic.Int64 // nanoseconds after start when to probe next; 0 while closed
}

// New makes a closed breaker that opens after failures in a row.
func New(failures int, pause time.Duration, now func() time.Time) *Breaker {
	return &Breaker{limit: int64(failures), pause: pause, now: now, start: now()}
}

// Budget says whether to try now and how long the try may take: whole while
// the breaker is closed, a probe's time for the one who probes. Every try that
// tells something about the backend is followed by one Done; one that its
// caller gave up tells nothing.
func (b *Breaker) Budget(whole time.Duration) (budget time.Duration, ok bool) {
	retry := b.retry.Load()
	if retry == 0 {
		return whole, true
	}
	now := b.sinceStart()
	// The next probe is set at once, so that a prober who never comes back
	// does not keep the breaker open.
	if now < retry || !b.retry.CompareAndSwap(retry, now+int64(b.pause)) {
		return 0, false
	}
	return min(whole, ProbeBudget), true
}

// Done says whether the backend answered.
func (b *Breaker) Done(answered bool) {
	if answered {
		// Read first: nearly every Done finds nothing to change.
		if b.failures.Load() != 0 {
			b.failures.Store(0)
		}
		if b.retry.Load() != 0 {
			b.retry.Store(0)
		}
		return
	}
	if b.failures.Add(1) >= b.limit {
		b.retry.Store(b.sinceStart() + int64(b.pause))
	}
}

// Open reports whether callers are turned away.
func (b *Breaker) Open() bool { return b.retry.Load() != 0 }

// sinceStart is never 0, which means closed.
func (b *Breaker) sinceStart() int64 { return int64(b.now().Sub(b.start)) + 1 }
