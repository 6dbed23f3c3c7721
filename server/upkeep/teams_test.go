package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// lease is one lease as the store keeps it.
type lease struct {
	mu      sync.Mutex
	owner   string
	expires time.Time
}

func (l *lease) TakeLease(_ context.Context, _, owner string, ttl time.Duration) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owner != owner && time.Now().Before(l.expires) {
		return false, nil
	}
	l.owner, l.expires = owner, time.Now().Add(ttl)
	return true, nil
}

func (l *lease) ReleaseLease(_ context.Context, _, owner string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owner == owner {
		l.expires = time.Time{}
	}
	return nil
}

// scores counts passes. A pass takes a while between its two transactions.
type scores struct {
	pause func(pass int) time.Duration
	mu    sync.Mutex // of done
	done  passes
}

type passes struct {
	begun int
	lost  int // ended because another process has the lease
	last  time.Time
}

func (s *scores) seen() passes {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done
}

func (s *scores) count(change func(*passes)) passes {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.done)
	return s.done
}

func (s *scores) Update(ctx context.Context, next func(context.Context) error) (scoreboard.TeamPass, error) {
	begun := s.count(func(p *passes) { p.begun++ }).begun
	time.Sleep(s.pause(begun))
	if err := next(ctx); err != nil {
		if errors.Is(err, ErrLost) {
			s.count(func(p *passes) { p.lost++ })
		}
		return scoreboard.TeamPass{}, err
	}
	s.count(func(p *passes) { p.last = time.Now() })
	return scoreboard.TeamPass{}, nil
}

func (s *scores) Age(context.Context) (time.Duration, error) { return 0, nil }

// Of two workers one computes teams. When it hangs for longer than its lease, the other one
// takes over, and the first one writes nothing more once it goes on. When that one stops, the
// first takes over again.
func TestSlowWorkerLosesItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := func(context.Context) (map[scoreboard.BoardID]*scoreboard.Board, error) {
			return map[scoreboard.BoardID]*scoreboard.Board{"clans": {Team: &scoreboard.TeamRule{}}}, nil
		}
		var l lease
		start := func(owner string, s *scores) (stop func()) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			runner := NewRunner(owner, &l, slog.New(slog.DiscardHandler))
			go func() { ended <- NewTeams(s, boards, runner).Run(ctx) }()
			return func() {
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}
		slow := &scores{pause: func(pass int) time.Duration {
			if pass == 10 {
				return 3 * teamsLeaseTTL
			}
			return time.Millisecond
		}}
		other := &scores{pause: func(int) time.Duration { return time.Millisecond }}
		stopSlow := start("slow", slow)
		time.Sleep(time.Millisecond)
		stopOther := start("other", other)

		time.Sleep(9 * teamsInterval)
		if slow.seen().begun < 9 || other.seen().begun != 0 {
			t.Fatalf("%d passes of the first worker and %d of the other, want one at work", slow.seen().begun,
				other.seen().begun)
		}
		time.Sleep(2 * teamsLeaseTTL)
		hung := slow.seen().last
		if slow.seen().begun != 10 || other.seen().begun < 10 {
			t.Fatalf("%d passes of the worker that hangs and %d of the other, want it to take over", slow.seen().begun,
				other.seen().begun)
		}
		time.Sleep(2 * teamsLeaseTTL)
		if slow.seen().lost != 1 || slow.seen().begun != 10 || slow.seen().last != hung {
			t.Errorf("the worker that hung: %+v, want its pass ended at the next transaction and no other", slow.seen())
		}
		stopOther()
		time.Sleep(2 * takeInterval)
		if slow.seen().begun <= 10 {
			t.Errorf("%d passes after the other worker has released its lease, want more", slow.seen().begun)
		}
		stopSlow()
	})
}
