package leaderboard_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// slowFallback does not answer while hangs is set, and counts concurrent calls.
type slowFallback struct {
	hanging
	calls, waiting, peak atomic.Int64
}

func (s *slowFallback) Page(
	ctx context.Context,
	b *scoreboard.Board,
	_ *scoreboard.Position,
	_ int,
) (*scoreboard.Top, error) {
	return &scoreboard.Top{Board: b.ID}, s.count(ctx)
}

func (s *slowFallback) Place(
	ctx context.Context,
	_ *scoreboard.Board,
	user scoreboard.UserID,
	_ int,
) (*scoreboard.Place, error) {
	return &scoreboard.Place{User: user, Rank: 7}, s.count(ctx)
}

func (s *slowFallback) Scores(
	ctx context.Context, _ *scoreboard.Board, users []scoreboard.UserID,
) ([]scoreboard.Place, error) {
	return []scoreboard.Place{{User: users[0]}}, s.count(ctx)
}

func (s *slowFallback) List(ctx context.Context, b *scoreboard.Board, _ []scoreboard.UserID) (*scoreboard.List, error) {
	return &scoreboard.List{Board: b.ID}, s.count(ctx)
}

func (s *slowFallback) HasStanding(ctx context.Context, _ scoreboard.BoardID, _ scoreboard.UserID) (bool, error) {
	return true, s.count(ctx)
}

func (s *slowFallback) RankOf(ctx context.Context, _ *scoreboard.Board, _ scoreboard.Pair) (int64, error) {
	return 7, s.count(ctx)
}

func (s *slowFallback) count(ctx context.Context) error {
	s.calls.Add(1)
	n := s.waiting.Add(1)
	defer s.waiting.Add(-1)
	for peak := s.peak.Load(); n > peak && !s.peak.CompareAndSwap(peak, n); peak = s.peak.Load() {
	}
	return s.wait(ctx)
}

// With neither backend answering, the last top is served with its age, the rest is
// unavailable at once, and a database that hangs gets few calls.
func TestLastHeadIsServedWithoutBackends(t *testing.T) {
	t.Parallel()
	ranked, fallback := &hanging{}, &slowFallback{}
	l := leaderboard.New(leaderboard.Options{
		Catalog:        oneBoard{},
		Ranking:        ranked,
		Fallback:       fallback,
		TriggerRebuild: func() {},
		Log:            slog.New(slog.DiscardHandler),
	})
	first, err := l.Top(ctx, global, 0)
	if err != nil || first.Degraded != "" {
		t.Fatalf("got %+v, %v", first, err)
	}
	ranked.hangs.Store(true)
	fallback.hangs.Store(true)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			_, err := l.Place(ctx, global, scoreboard.UserID(fmt.Sprint("u", i)), 0, 0)
			if code := wire.CodeOf(err); err == nil ||
				code != wire.CodeUnavailable && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a place without backends: %v", err)
			}
		})
	}
	all.Wait()
	if peak := fallback.peak.Load(); peak > 4 {
		t.Errorf("the store got %d concurrent calls, want at most 4", peak)
	}
	fallback.calls.Store(0)
	took := latencies(3*time.Second, func() {
		top, err := l.Top(ctx, global, 0)
		if err != nil || top.Degraded != "stale" || !top.AsOf.Equal(first.AsOf) || top.Version != 0 {
			t.Fatalf("got %+v, %v, want the first top, marked", top, err)
		}
		_, err = l.Place(ctx, global, "alice", 0, 0)
		var known *scoreboard.Error
		if !errors.As(err, &known) || known.Code != wire.CodeUnavailable || known.RetryAfter <= 0 {
			if !errors.Is(err, context.DeadlineExceeded) { // the caller that probed
				t.Fatalf("a place without backends: %v", err)
			}
		}
	})
	if p95 := took[len(took)*95/100]; p95 > 10*time.Millisecond {
		t.Errorf("p95 is %s, want below both budgets", p95)
	}
	if n := fallback.calls.Load(); n > 6 {
		t.Errorf("the store got %d calls in 3 s, want a probe a second", n)
	}
	ranked.hangs.Store(false)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		top, err := l.Top(ctx, global, 0)
		if err == nil && top.Degraded == "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after 10 s: %+v, %v", top, err)
		}
	}
}

// A notice invalidates a top that was read before it, and no later one.
func TestNoticeInvalidatesHead(t *testing.T) {
	t.Parallel()
	counted := &counting{}
	l := leaderboard.New(leaderboard.Options{
		Catalog:        oneBoard{},
		Ranking:        counted,
		Fallback:       plainFallback{},
		TriggerRebuild: func() {},
		Log:            slog.New(slog.DiscardHandler),
	})
	version := func() int64 {
		t.Helper()
		top, err := l.Top(ctx, global, 0)
		if err != nil {
			t.Fatal(err)
		}
		return top.Version
	}
	began := time.Now()
	first, second := version(), version()
	if first != 1 || second != 1 && time.Since(began) < 200*time.Millisecond {
		t.Errorf("two reads in a row read the ranking twice: versions %d and %d", first, second)
	}
	l.Notify(scoreboard.Notice{Board: "global", Top: &scoreboard.Top{Version: 1}}) // already read
	if version() != 1 && time.Since(began) < 200*time.Millisecond {
		t.Error("a notice of the cached version invalidated it")
	}
	now := version()
	l.Notify(scoreboard.Notice{Board: "global", Top: &scoreboard.Top{Version: now + 1}})
	l.Notify(scoreboard.Notice{Board: "other", Top: &scoreboard.Top{Version: 9}})
	if got := version(); got != now+1 {
		t.Errorf("after a notice of version %d: %d", now+1, got)
	}
	time.Sleep(300 * time.Millisecond) // a lost notice delays a change by no more
	if got := version(); got < now+2 {
		t.Errorf("without a notice for longer than topTTL: version %d", got)
	}
	waited := time.Now()
	if top, err := l.Top(ctx, global, now+5); err != nil || top.Version < now+5 || time.Since(waited) > 5*time.Second {
		t.Errorf("version %d, %v after %s, want %d soon", top.Version, err, time.Since(waited), now+5)
	}
	waited = time.Now()
	if top, err := l.Top(ctx, global, 1<<40); err != nil || top.Version == 0 || time.Since(waited) < time.Second {
		t.Errorf(
			"version %d, %v after %s, want the current version after a second", top.Version, err,
			time.Since(waited),
		)
	}
}

// Answers from before a user was hidden on a board are not served from the cache;
// later ones and other boards are.
func TestHiddenUserIsNotServedFromCache(t *testing.T) {
	t.Parallel()
	ranked := &meanwhile{do: func() {}}
	l := leaderboard.New(leaderboard.Options{
		Catalog:        oneBoard{},
		Ranking:        ranked,
		Fallback:       plainFallback{},
		TriggerRebuild: func() {},
		Log:            slog.New(slog.DiscardHandler),
	})
	other := &scoreboard.Board{ID: "other"}
	read := func(b *scoreboard.Board) {
		t.Helper()
		// The standing first: with a cached top it would come from there.
		if _, err := l.Place(ctx, b, "bob", 1, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Top(ctx, b, 0); err != nil {
			t.Fatal(err)
		}
	}
	is := func(what string, b *scoreboard.Board, want bool) {
		t.Helper()
		if top, place := l.CachedTop(b.ID) != nil, l.CachedPlace(b.ID, "bob", 1) != nil; top != want || place != want {
			t.Errorf("%s: the top of %s is served: %t, the standing: %t, want %t", what, b.ID, top, place, want)
		}
	}
	read(global)
	read(other)
	l.Notify(scoreboard.Notice{Board: "global", Top: &scoreboard.Top{Version: 9}})
	is("after a change", global, true)
	l.Notify(scoreboard.Notice{Board: "global", Hides: true})
	is("after a ban", global, false)
	is("after a ban elsewhere", other, true)
	read(global)
	is("read after a ban", global, true)
	ranked.do = func() { l.Notify(scoreboard.Notice{Board: "global", Top: &scoreboard.Top{Version: 99}, Hides: true}) }
	if _, err := l.Place(ctx, global, "carol", 1, 0); err != nil || l.CachedPlace("global", "carol", 1) != nil {
		t.Errorf("a standing read while a user was banned is served, %v", err)
	}
	if _, err := l.ReadTop(ctx, "global"); err != nil || l.CachedTop("global") != nil {
		t.Errorf("a top read while a user was banned is served, %v", err)
	}
}

// meanwhile is a ranking that calls do during each read.
type meanwhile struct {
	counting
	do func()
}

func (m *meanwhile) Top(ctx context.Context, id *scoreboard.Board) (*scoreboard.Top, error) {
	m.do()
	return m.counting.Top(ctx, id)
}

func (m *meanwhile) Place(
	ctx context.Context,
	id *scoreboard.Board,
	user scoreboard.UserID,
	k int,
) (*scoreboard.Place, error) {
	m.do()
	return m.counting.Place(ctx, id, user, k)
}

// counting is a ranking that answers each read with the next version.
type counting struct {
	hanging
	reads atomic.Int64
}

func (c *counting) Top(_ context.Context, id *scoreboard.Board) (*scoreboard.Top, error) {
	return &scoreboard.Top{Board: id.ID, Version: c.reads.Add(1)}, nil
}
