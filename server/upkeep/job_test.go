package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type leases struct {
	mu       sync.Mutex // of held, fails and asked, while a job renews beside its work
	held     bool
	fails    error
	asked    int
	released []string
}

func (l *leases) TakeLease(_ context.Context, name, owner string, life time.Duration) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	return l.held && name == "audit" && owner == "me" && life == time.Minute, l.fails
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

// Work on request holds the lease for as long as it runs, and ends when the lease is lost: when
// another process has it, or the database has not answered for half of its life.
func TestHold(t *testing.T) {
	t.Parallel()
	for what, lose := range map[string]func(*leases){
		"not lost":     func(*leases) {},
		"taken":        func(l *leases) { l.held = false },
		"unreachable":  func(l *leases) { l.fails = errors.New("down") },
		"ignored":      func(l *leases) { l.held = false },
		"at the start": nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &leases{held: lose != nil}
			j := &Job{
				Leases: l, Name: "audit", Owner: "me", Life: time.Minute, Interval: 15 * time.Second,
				Log: slog.New(slog.DiscardHandler),
			}
			began, worked := time.Now(), false
			err := j.Hold(t.Context(), func(ctx context.Context) error {
				worked = true
				time.Sleep(time.Minute)
				l.mu.Lock()
				lose(l)
				l.mu.Unlock()
				select {
				case <-time.After(10 * time.Minute):
					return nil
				case <-ctx.Done():
					if what == "ignored" {
						return nil
					}
					return ctx.Err()
				}
			})
			took := time.Since(began)
			if what == "not lost" {
				if err != nil || took != 11*time.Minute || len(l.released) != 1 {
					t.Errorf("%s: got %v after %s, released %v", what, err, took, l.released)
				}
				return
			}
			if !errors.Is(err, ErrLost) || took >= 2*time.Minute || worked == (what == "at the start") {
				t.Errorf("%s: got %v after %s, worked %t, want that the lease is not held", what, err, took, worked)
			}
		})
	}
}

// Work that takes long renews the lease before it expires and not more often, notices that
// another process has taken it, and asks for it again after a while: also after an error, as
// the lease may be gone.
func TestKeep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &leases{held: true}
		j := &Job{
			Leases: l, Name: "audit", Owner: "me", Life: time.Minute, Interval: time.Second, Retry: 5 * time.Second,
			Log: slog.New(slog.DiscardHandler),
		}
		keep := func(what string, want error, asked int) {
			t.Helper()
			before := l.asked
			if err := j.Keep(t.Context()); !errors.Is(err, want) || l.asked-before != asked {
				t.Errorf("%s: got %v after %d requests, want %v after %d", what, err, l.asked-before, want, asked)
			}
		}
		keep("at first", nil, 1)
		time.Sleep(14 * time.Second)
		keep("before a quarter of its life", nil, 0)
		time.Sleep(time.Second)
		keep("after a quarter of its life", nil, 1)
		time.Sleep(15 * time.Second)
		l.held = false
		keep("taken by another process", ErrLost, 1)
		time.Sleep(4 * time.Second)
		keep("soon after that", ErrLost, 0)
		l.held = true
		time.Sleep(time.Second)
		keep("once it is free", nil, 1)

		ctx, cancel := context.WithTimeout(t.Context(), 6500*time.Millisecond)
		defer cancel()
		failures, asked := 0, l.asked
		err := j.Run(ctx, func(ctx context.Context) error {
			if err := j.Keep(ctx); err != nil {
				return err // not a failure
			}
			return errors.New("it may be gone")
		}, func(error) { failures++ })
		if err != nil || failures != 2 || l.asked != asked+1 {
			t.Errorf("got %v, %d failures and %d requests, want 2 with one request, after 5 seconds", err, failures,
				l.asked-asked)
		}
	})
}
