package outbox_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// mortalQueue is the queue of a relay that a test kills: once dead, none of its
// calls reaches the store.
type mortalQueue struct {
	rig
	dead atomic.Bool
}

var errKilled = errors.New("killed")

func (d *mortalQueue) AdvanceShard(
	ctx context.Context, shard int, generation int64, to scoreboard.Cursor,
) (bool, error) {
	if d.dead.Load() {
		return false, errKilled
	}
	return d.rig.Outbox.AdvanceShard(ctx, shard, generation, to)
}

func (d *mortalQueue) ClaimShard(
	ctx context.Context, shard int, owner string, ttl time.Duration,
) (int64, scoreboard.Cursor, bool, error) {
	if d.dead.Load() {
		return 0, scoreboard.Cursor{}, false, errKilled
	}
	return d.rig.Outbox.ClaimShard(ctx, shard, owner, ttl)
}

func (d *mortalQueue) ReleaseShard(ctx context.Context, shard int, generation int64) error {
	if d.dead.Load() {
		return errKilled
	}
	return d.rig.Outbox.ReleaseShard(ctx, shard, generation)
}

func (d *mortalQueue) JoinRelays(ctx context.Context, owner string, ttl time.Duration) ([]string, error) {
	if d.dead.Load() {
		return nil, errKilled
	}
	return d.rig.Outbox.JoinRelays(ctx, owner, ttl)
}

func (d *mortalQueue) LeaveRelays(ctx context.Context, owner string) error {
	if d.dead.Load() {
		return errKilled
	}
	return d.rig.Outbox.LeaveRelays(ctx, owner)
}

func TestRelayKilledBetweenPublishAndCursor(t *testing.T) {
	t.Parallel()
	r := open(t)
	conn := r.connect(t)
	row(t, conn, "before")
	d := &mortalQueue{rig: r}
	p := &publisher{}
	stop := start(t, options("first"), d, p)
	until(t, "one published", func() bool { return len(p.published()) == 1 })
	d.dead.Store(true)
	row(t, conn, "between")
	until(t, "the next published", func() bool { return slices.Contains(p.published(), "between") })
	stop()

	second := &publisher{}
	began := time.Now()
	start(t, options("second"), r, second)
	until(t, "published by the second", func() bool { return len(second.published()) > 0 })
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the second relay took over after %v, want at most 2 s", took)
	}
	row(t, conn, "after")
	until(t, "all published", func() bool { return len(second.published()) == 2 })
	if got := second.published(); !slices.Equal(got, []string{"between", "after"}) {
		t.Errorf("the second relay published %q, want the rows after the cursor, then the new one", got)
	}
}

func TestRelayWithoutLeaseCannotMoveCursor(t *testing.T) {
	t.Parallel()
	r := open(t)
	conn := r.connect(t)
	row(t, conn, "one")
	o := options("stalled")
	o.LeaseDuration = 300 * time.Millisecond
	stalled, released := make(chan struct{}), make(chan struct{})
	first := &publisher{}
	var once sync.Once
	first.publish = func(changes []scoreboard.Change) (int, error) {
		once.Do(func() { close(stalled); <-released })
		return len(changes), nil
	}
	stopFirst := start(t, o, r, first)
	<-stalled
	o.Owner = "quick"
	second := &publisher{}
	start(t, o, r, second)
	until(t, "taken over", func() bool { return len(second.published()) == 1 })
	row(t, conn, "two")
	until(t, "the second row published", func() bool { return len(second.published()) == 2 })
	before := r.cursor(t)
	close(released) // the first relay now tries to move the cursor over row one
	until(t, "the stalled relay awake", func() bool { return len(first.published()) > 0 })
	stopFirst()
	if after := r.cursor(t); after != before {
		t.Errorf("a relay without a lease moved the cursor from %v to %v", before, after)
	}
	if got := second.published(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("the owner published %q, want one and two", got)
	}
}
