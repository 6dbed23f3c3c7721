package retry_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/retry"
)

const (
	whole = 500 * time.Millisecond
	pause = time.Second
)

func newBreaker() (*retry.Breaker, *time.Time) {
	now := time.Unix(1, 0)
	return retry.NewBreaker(3, pause, func() time.Time { return now }), &now
}

func wantBudget(t *testing.T, when string, b *retry.Breaker, want time.Duration) {
	t.Helper()
	got, ok := b.Budget(whole)
	if got != want || ok != (want > 0) {
		t.Errorf("%s: got %s, %t, want %s", when, got, ok, want)
	}
}

func TestOpensAfterConsecutiveFailures(t *testing.T) {
	t.Parallel()
	b, _ := newBreaker()
	for _, answered := range []bool{false, false, true, false, false} {
		b.Done(answered)
		wantBudget(t, "after at most two consecutive failures", b, whole)
	}
	b.Done(false)
	if !b.Open() {
		t.Error("not open after the third consecutive failure")
	}
	wantBudget(t, "open", b, 0)
}

func TestOneProbePerPauseUntilAnAnswer(t *testing.T) {
	t.Parallel()
	b, now := newBreaker()
	for range 3 {
		b.Done(false)
	}
	*now = now.Add(pause - 1)
	wantBudget(t, "before the pause is over", b, 0)
	*now = now.Add(1)
	wantBudget(t, "the probe", b, retry.ProbeBudget)
	wantBudget(t, "during the probe", b, 0)
	b.Done(false)
	wantBudget(t, "after a probe that failed", b, 0)
	*now = now.Add(pause)
	wantBudget(t, "the second probe", b, retry.ProbeBudget)
	*now = now.Add(pause)
	wantBudget(t, "after a probe that never returned", b, retry.ProbeBudget)
	b.Done(true)
	wantBudget(t, "after a probe that was answered", b, whole)
	b.Done(false)
	wantBudget(t, "one failure later", b, whole)
}

func TestManyCallersMakeOneProbe(t *testing.T) {
	t.Parallel()
	b, now := newBreaker()
	for range 3 {
		b.Done(false)
	}
	*now = now.Add(pause)
	var probes atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			if _, ok := b.Budget(whole); ok {
				probes.Add(1)
			}
		})
	}
	all.Wait()
	if got := probes.Load(); got != 1 {
		t.Errorf("got %d probes at once, want 1", got)
	}
}
