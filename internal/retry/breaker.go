package retry

import (
	"sync/atomic"
	"time"
)

// ProbeBudget bounds a probe, because a request waits for it. Once the breaker is
// open, a backend that answers more slowly does not close it.
const ProbeBudget = 50 * time.Millisecond

// Breaker opens after consecutive failures and then lets one caller per pause probe
// the backend.
type Breaker struct {
	limit int64
	pause time.Duration
	now   func() time.Time
	start time.Time

	failures atomic.Int64 // consecutive
	retry    atomic.Int64 // next probe, in nanoseconds after start; 0: closed
}

// NewBreaker returns a closed breaker that opens after consecutive failures.
func NewBreaker(failures int, pause time.Duration, now func() time.Time) *Breaker {
	return &Breaker{limit: int64(failures), pause: pause, now: now, start: now()}
}

// Budget reports whether to try now and how long the try may take: whole while the
// breaker is closed, at most ProbeBudget for a probe. After each try that says
// something about the backend, the caller calls Done once; not after a try that was
// cancelled.
func (b *Breaker) Budget(whole time.Duration) (budget time.Duration, ok bool) {
	retry := b.retry.Load()
	if retry == 0 {
		return whole, true
	}
	now := b.sinceStart()
	// The next probe is scheduled at once, so a probe that never returns does not
	// keep the breaker open.
	if now < retry || !b.retry.CompareAndSwap(retry, now+int64(b.pause)) {
		return 0, false
	}
	return min(whole, ProbeBudget), true
}

// Done records whether the backend answered.
func (b *Breaker) Done(answered bool) {
	if answered {
		// Load first: usually nothing changes.
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

// Open reports whether calls are rejected.
func (b *Breaker) Open() bool { return b.retry.Load() != 0 }

// sinceStart is never 0, which means closed.
func (b *Breaker) sinceStart() int64 { return int64(b.now().Sub(b.start)) + 1 }
