package realtime

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// failing is fixed, until it fails.
type failing struct {
	fixed
	failed atomic.Bool
	stale  atomic.Bool
}

func (f *failing) ReadTop(ctx context.Context, b scoreboard.BoardID) (*scoreboard.Top, error) {
	if f.failed.Load() {
		return nil, errors.New("away")
	}
	top, err := f.fixed.ReadTop(ctx, b)
	if f.stale.Load() {
		top.Degraded, top.State = scoreboard.ReasonStale, scoreboard.StateRebuilding
	}
	return top, err
}

// While neither Redis nor PostgreSQL answers, reads have what was known before, and confirm nothing.
func TestLagGrowsOnStaleReads(t *testing.T) {
	t.Parallel()
	source := &failing{}
	h := NewHub(Options{}, source, nil, slog.New(slog.DiscardHandler))
	b, err := h.board(t.Context(), "global")
	if err != nil {
		t.Fatal(err)
	}
	c := NewHandlerConn(h, "test", &Viewer{})
	b.add(&subscription{conn: &c.Conn, board: b})
	check := func() time.Duration {
		now := time.Now()
		b.mu.Lock()
		b.heard, b.read, b.joined = now.Add(-40*time.Second), now.Add(-40*time.Second), now.Add(-40*time.Second)
		b.mu.Unlock()
		h.checkOnce(t.Context(), now)
		return lagOf(h, time.Now())
	}
	source.stale.Store(true)
	if got := check(); got < 39*time.Second {
		t.Errorf("with stale reads: got %s, want about 40s", got)
	}
	source.stale.Store(false)
	if got := check(); got > 10*time.Second {
		t.Errorf("afterwards: got %s, want about 0", got)
	}
}

// The lag of a hub grows while neither notices nor reads reach it, while a change is not published and
// while frames are not written; boards without viewers do not count.
func TestLagIsTheHubsOwn(t *testing.T) {
	t.Parallel()
	source := &failing{}
	h := NewHub(Options{}, source, nil, slog.New(slog.DiscardHandler))
	now := time.Now()
	lag := func(want time.Duration, when string) {
		t.Helper()
		if got := lagOf(h, now); got < want-time.Second || got > want+time.Second {
			t.Errorf("%s: got %s, want about %s", when, got, want)
		}
	}
	b, err := h.board(t.Context(), "global")
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	lag(0, "without viewers")
	c := NewHandlerConn(h, "test", &Viewer{})
	sub := &subscription{conn: &c.Conn, board: b}
	b.add(sub)
	now = time.Now()
	lag(0, "when the first viewer has joined")

	source.failed.Store(true)
	now = now.Add(40 * time.Second)
	h.checkOnce(t.Context(), now)
	lag(40*time.Second, "while nothing reaches the hub")
	if n := len(h.changed); n != 1 {
		t.Fatalf("got %d changed boards, want the degraded one", n)
	}
	source.failed.Store(false)
	b.mu.Lock()
	b.heard = now
	b.mu.Unlock()
	lag(40*time.Second, "while the change is not published")
	h.changed[0].listedAt = now
	lag(0, "afterwards")

	h.queue.push(nil)
	now = h.queue.since.Add(50 * time.Second)
	b.mu.Lock()
	b.heard = now
	b.mu.Unlock()
	h.changed[0].listedAt = now
	lag(50*time.Second, "while a frame is not written")
}
