package leased

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

type leases struct {
	held     bool
	released []string
}

func (l *leases) TakeLease(_ context.Context, name, owner string, life time.Duration) (bool, error) {
	return l.held && name == "audit" && owner == "me" && life == time.Minute, nil
}

func (l *leases) ReleaseLease(ctx context.Context, name, owner string) error {
	l.released = append(l.released, name+" of "+owner)
	return ctx.Err()
}

// A job runs at once and at its interval, goes on after an error, and releases its lease
// when it stops, although its context has ended by then.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &leases{held: true}
		j := &Job{
			Leases: l, Name: "audit", Owner: "me", Life: time.Minute, Interval: time.Second,
			Log: slog.New(slog.DiscardHandler),
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		runs, failures := 0, 0
		err := j.Run(ctx, func(ctx context.Context) error {
			if held, err := j.Renew(ctx); err != nil || !held {
				t.Errorf("got %v, %v, want the lease", held, err)
			}
			runs++
			if runs == 2 {
				return errors.New("once")
			}
			return nil
		}, func(error) { failures++ })
		if err != nil || runs != 4 || failures != 1 || len(l.released) != 1 || l.released[0] != "audit of me" {
			t.Errorf("got %v after %d runs, %d failures, released %v", err, runs, failures, l.released)
		}
	})
}
