package retry_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/internal/retry"
)

func TestDelayGrowsWithinItsBounds(t *testing.T) {
	t.Parallel()
	for attempt, limit := range map[int]time.Duration{
		1: 50 * time.Millisecond, 2: 100 * time.Millisecond, 5: 800 * time.Millisecond, 8: 5 * time.Second,
		1000: 5 * time.Second,
	} {
		for range 200 {
			if d := retry.Delay(attempt); d < limit/2 || d >= limit {
				t.Fatalf("attempt %d: %s, want from %s to %s", attempt, d, limit/2, limit)
			}
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		started := time.Now()
		retry.Wait(ctx, 10)
		if took := time.Since(started); took != 10*time.Millisecond {
			t.Errorf("waited %s, want 10ms", took)
		}
		retry.Wait(t.Context(), 1)
		if took := time.Since(started); took < 35*time.Millisecond {
			t.Errorf("waited until %s, want 35ms or more", took)
		}
	})
}

func TestKeepRerunsUntilTheContextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	runs, attempts := 0, []int{}
	retry.Rerun(ctx, func(context.Context) error {
		if runs++; runs == 4 {
			cancel()
			return nil
		}
		return errors.New("not now")
	}, func(attempt int, _ error) { attempts = append(attempts, attempt) })
	if runs != 4 || !slices.Equal(attempts, []int{1, 2, 3}) {
		t.Errorf("got %d runs and failures %v, want 4 and [1 2 3]", runs, attempts)
	}
}
