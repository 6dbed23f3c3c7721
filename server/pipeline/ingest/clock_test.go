package ingest

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The system clock is set, or the machine is suspended: the database's time does not follow the system clock, and is
// measured again at once, but at most once a second.
func TestSystemClockIsSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ahead := time.Hour // the database's clock
		var down atomic.Bool
		var reads atomic.Int64
		c := NewClock(func(context.Context) (time.Time, error) {
			reads.Add(1)
			if down.Load() {
				return time.Time{}, errors.New("the database does not answer")
			}
			return time.Now().Add(ahead), nil
		}, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = c.Run(ctx) }()
		synctest.Wait()
		// As if the system clock had been set since the last measurement, or the timer had stood still.
		change := func(set, stood time.Duration) {
			m := *c.measured.Load()
			m.system, m.timer = m.system.Add(-set), m.timer.Add(stood)
			c.measured.Store(&m)
		}
		check := func(about string) {
			t.Helper()
			if off := c.Now().Sub(time.Now().Add(ahead)); off.Abs() > time.Millisecond {
				t.Errorf("%s: %s off", about, off)
			}
			synctest.Wait()
		}
		want := func(n int64, about string) {
			t.Helper()
			if got := reads.Swap(0); got != n {
				t.Errorf("%s: measured %d times, want %d", about, got, n)
			}
			time.Sleep(2 * clockRetry)
		}
		check("at first")
		want(1, "at first")
		check("nothing has happened")
		want(0, "nothing has happened")
		for _, set := range []time.Duration{-3 * time.Second, 3 * time.Second, -10 * time.Minute, 10 * time.Minute} {
			change(set, 0)
			check("set by " + set.String())
			want(1, "set by "+set.String())
		}
		change(0, 5*time.Minute)
		if off := c.Now().Sub(time.Now().Add(ahead)); off != -5*time.Minute {
			t.Errorf("after five minutes that the timer has not counted: %s off", off)
		}
		synctest.Wait()
		check("after it was suspended")
		want(1, "after it was suspended")
		down.Store(true)
		change(3*time.Second, 0)
		for range 90 {
			check("set during an outage")
			time.Sleep(clockRetry / 20)
		}
		want(5, "set during an outage of 4.5 seconds")
	})
}
