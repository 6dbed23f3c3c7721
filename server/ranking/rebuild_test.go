package ranking_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestRebuildUnderLoadLosesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		r.apply(t, change("alice", 5, 1, 1), change("ghost", 99, 1, 1))
		if ok, err := r.Claim(ctx, board, "a"); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if ok, err := r.Claim(ctx, board, "b"); ok || err != nil {
			t.Errorf("a second claim: %v, %v; want false", ok, err)
		}
		r.apply(t, change("alice", 7, 3, 3), change("bob", 6, 1, 2)) // live, before the snapshot is written
		r.is(t, "ghost:99 alice:7 bob:6")                            // reads are not affected
		// The snapshot has an older state of alice, and carol.
		if err := r.Fill(
			ctx, board.ID, "a", []scoreboard.Change{change("alice", 5, 1, 1), change("carol", 6, 1, 1)},
		); err != nil {
			t.Fatal(err)
		}
		if err := r.Fill(ctx, board.ID, "b", nil); err == nil {
			t.Error("another token filled the shadow")
		}
		r.apply(t, change("dave", 1, 1, 4))
		before := r.top(t)
		n, err := r.Swap(ctx, board, "a", snapshot(2, before.Epoch+1))
		if err != nil || n != 4 {
			t.Fatalf("swap: %d, %v; want 4 users", n, err)
		}
		r.is(t, "alice:7 carol:6 bob:6 dave:1")
		if after := r.top(t); after.Epoch != before.Epoch+1 || after.Version != 1 {
			t.Errorf("epoch %d version %d, want %d and 1", after.Epoch, after.Version, before.Epoch+1)
		}
		r.apply(t, change("dave", 9, 2, 5))
		r.is(t, "dave:9 alice:7 carol:6 bob:6")
		r.nothingExpires(t)
	})
}

func (r rig) nothingExpires(t testing.TB) {
	t.Helper()
	for _, key := range r.keys(t) {
		if strings.Contains(key, ":shadow:") {
			t.Errorf("key %s of the shadow is left", key)
		}
		if ttl, err := r.rdb.PTTL(ctx, key).Result(); err != nil || ttl >= 0 {
			t.Errorf("live key %s expires in %v (%v)", key, ttl, err)
		}
	}
}

func TestInterruptedRebuildLeavesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		r.apply(t, change("alice", 5, 1, 1))
		want := r.keys(t)
		for _, phase := range []string{"claimed", "filled"} {
			if ok, err := r.Claim(ctx, board, phase); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if phase == "filled" {
				if err := r.Fill(
					ctx, board.ID, phase, []scoreboard.Change{hidden(change("bob", 1, 1, 1))},
				); err != nil {
					t.Fatal(err)
				}
			}
			r.apply(t, change("alice", 6, 2, 2), change(phase, 1, 1, 1))
			for _, key := range r.keys(t) {
				if ttl, err := r.rdb.PTTL(ctx, key).
					Result(); err != nil ||
					strings.Contains(key, ":shadow:") && ttl <= 0 {
					t.Errorf("%s: %s never expires (%v)", phase, key, err)
				}
			}
			if err := r.Release(ctx, board.ID, phase); err != nil {
				t.Fatal(err)
			}
			if got := r.keys(t); !sameKeys(got, want) {
				t.Errorf("%s: keys %q are left, want %q", phase, got, want)
			}
		}
	})
}

func sameKeys(a, b []string) bool {
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

func TestSwapRejectsShadowThatLostUsers(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		r.apply(t, change("alice", 5, 1, 1))
		if _, err := r.Claim(ctx, board, "a"); err != nil {
			t.Fatal(err)
		}
		if err := r.Fill(ctx, board.ID, "a", []scoreboard.Change{change("bob", 1, 1, 1)}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Swap(ctx, board, "a", snapshot(2, 9)); err == nil {
			t.Error("a shadow with 1 of 2 users replaced the board")
		}
		r.is(t, "alice:5")
	})
}

// Redis may evict or expire one key of a shadow, and the next change creates it again.
func TestSwapRejectsShadowThatLostKey(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		r.apply(t, change("alice", 5, 1, 1))
		for _, key := range []string{"sb:{global}:shadow:rank", "sb:{global}:shadow:users"} {
			if ok, err := r.Claim(ctx, board, "a"); err != nil || !ok {
				t.Fatal(ok, err)
			}
			states := []scoreboard.Change{change("alice", 5, 1, 1), change("bob", 4, 1, 1)}
			if err := r.Fill(ctx, board.ID, "a", states); err != nil {
				t.Fatal(err)
			}
			if err := r.rdb.Del(ctx, key).Err(); err != nil {
				t.Fatal(err)
			}
			r.apply(t, change("carol", 3, 2, 2), change("dave", 2, 2, 2)) // two users again
			if _, err := r.Swap(ctx, board, "a", snapshot(2, 9)); err == nil {
				t.Errorf("a shadow without %s replaced the board", key)
			}
			r.is(t, "alice:5 carol:3 dave:2")
		}
		if ok, err := r.Claim(ctx, board, "b"); err != nil || !ok {
			t.Fatalf("claim: %t, %v; want the useless shadow gone", ok, err)
		}
		if _, err := r.Swap(ctx, board, "b", snapshot(0, 9)); err != nil {
			t.Fatal(err)
		}
		r.is(t, "")
	})
}

func TestEpochsOnlyRise(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		for _, c := range []struct {
			epoch int64
			ok    bool
		}{{7, true}, {7, false}, {6, false}, {8, true}, {scoreboard.MaxEpoch, true}} {
			if _, err := r.Claim(ctx, board, "a"); err != nil {
				t.Fatal(err)
			}
			_, err := r.Swap(ctx, board, "a", snapshot(0, c.epoch))
			if (err == nil) != c.ok {
				t.Errorf("epoch %d: got %v", c.epoch, err)
			}
			if err := r.Release(ctx, board.ID, "a"); err != nil {
				t.Fatal(err)
			}
		}
		if epoch, err := r.Epoch(ctx, board); err != nil || epoch != scoreboard.MaxEpoch || r.top(t).Epoch != epoch {
			t.Errorf("got epoch %d, %v", epoch, err)
		}
		if epoch, err := r.Epoch(ctx, &scoreboard.Board{ID: "other"}); err != nil || epoch != 0 {
			t.Errorf("a board that is not loaded: got epoch %d, %v", epoch, err)
		}
	})
}

func TestNoticesNameMovedUsers(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		next := follow(t, r)
		if err := r.rdb.Publish(ctx, "sb:notices", "not a notice").Err(); err != nil {
			t.Fatal(err) // the notices after it still arrive
		}
		r.apply(t, change("alice", 5, 1, 1))
		n := next()
		if n.Board != board.ID || n.Top == nil || show(n.Top.Entries) != "alice:5" || n.Top.Version != 2 ||
			n.Top.Epoch != 1 ||
			n.Top.Total != 1 {
			t.Errorf("got %+v with top %+v", n, n.Top)
		}
		if len(n.Moved) != 1 || n.Moved[0] != (scoreboard.Moved{User: "alice", Score: 5, Revision: 1, Version: 1}) {
			t.Errorf("moved %+v", n.Moved)
		}
		r.apply(t, change("alice", 5, 1, 1)) // nothing to report
		r.apply(t, change("alice", 5, 2, 9)) // reached again: the user moved, the top did not change
		if n = next(); n.Top != nil || len(n.Moved) != 1 || n.Moved[0].Revision != 2 || n.Hides {
			t.Errorf("got %+v, want a notice without a top", n)
		}
		banned := change("alice", 5, 3, 9)
		banned.Hidden = true
		r.apply(t, banned, change("carol", 1, 1, 9))
		if n = next(); !n.Hides || n.Top == nil || show(n.Top.Entries) != "carol:1" || len(n.Moved) != 2 {
			t.Errorf("a ban: got %+v, want Hides", n)
		}
		r.warm(t, board, change("bob", 3, 1, 1))
		if n = next(); n.Top == nil || show(n.Top.Entries) != "bob:3" || n.Top.Version != 1 {
			t.Errorf("after a rebuild: %+v", n)
		}
	})
}

func TestRankingStatus(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		is := func(want scoreboard.BoardState, members int64) *scoreboard.RankingStatus {
			t.Helper()
			c, err := r.Status(ctx, board.ID)
			if err != nil {
				t.Fatal(err)
			}
			if c.State != want || c.Members != members {
				t.Errorf("%+v, want %s with %d members", *c, want, members)
			}
			return c
		}
		r.apply(t, change("alice", 5, 1, 1))
		built := is(scoreboard.StateCatchingUp, 1).Built
		beat := scoreboard.Heartbeat{Shards: 1, Partitions: 1, AsOf: built.Add(time.Second)}
		if err := r.RecordHeartbeats(ctx, []scoreboard.Heartbeat{beat}); err != nil {
			t.Fatal(err)
		}
		if c := is(scoreboard.StateHealthy, 1); c.Epoch != 1 || c.Version != 2 || c.Rebuilding || c.Suspect {
			t.Errorf("%+v", *c)
		}
		if _, err := r.Claim(ctx, board, "a"); err != nil {
			t.Fatal(err)
		}
		if c := is(scoreboard.StateHealthy, 1); !c.Rebuilding {
			t.Error("Rebuilding is false during a rebuild")
		}
		if err := r.rdb.FlushAll(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		is(scoreboard.StateRebuilding, 0)
	})
}

func TestNoticeIsCompleteIfAllIsNew(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		at := time.Now().Truncate(time.Microsecond).UTC()
		if err := r.RecordHeartbeats(ctx, []scoreboard.Heartbeat{{Shards: 1, Partitions: 1, AsOf: at}}); err != nil {
			t.Fatal(err)
		}
		next := follow(t, r)
		alice, bob := change("alice", 5, 1, 1), change("bob", 3, 1, 2)
		r.apply(t, alice, bob)
		n := next()
		if n.Top == nil || !n.Top.AsOf.Equal(at) || len(n.Moved) != 2 {
			t.Fatalf("got %+v with top %+v, want it as of %s", n, n.Top, at)
		}
		reached := map[scoreboard.UserID]time.Time{"alice": alice.ReachedAt, "bob": bob.ReachedAt}
		for _, m := range n.Moved {
			if want := reached[m.User]; !m.ReachedAt.Equal(want) {
				t.Errorf("%s: reached at %s, want %s", m.User, m.ReachedAt, want)
			}
		}
		r.apply(t, alice, change("bob", 9, 2, 3)) // with a repeat
		if n = next(); n.Top == nil || !n.Top.AsOf.IsZero() {
			t.Errorf("with a repeat: got %+v, want no as_of", n.Top)
		}
		r.apply(t, hidden(change("bob", 9, 3, 3)))
		if n = next(); n.Top == nil || !n.Top.AsOf.IsZero() || !n.Hides {
			t.Errorf("hiding a user: got %+v, want no as_of", n.Top)
		}
	})
}

// follow subscribes to notices and returns a function that waits for the next.
func follow(t *testing.T, r rig) (next func() scoreboard.Notice) {
	t.Helper()
	return followAll(t, r, func(error) {})
}

// followAll is follow that passes malformed notices to bad.
func followAll(t *testing.T, r rig, bad func(error)) (next func() scoreboard.Notice) {
	t.Helper()
	following, stop := context.WithCancel(ctx)
	notices := make(chan scoreboard.Notice, 16)
	done := make(chan error, 1)
	go func() { done <- r.Follow(following, func(n scoreboard.Notice) { notices <- n }, bad) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for n := int64(0); n == 0; { // until the subscription is active
		count, err := r.rdb.PubSubNumSub(ctx, "sb:notices").Result()
		if err != nil {
			t.Fatal(err)
		}
		n = count["sb:notices"]
	}
	return func() scoreboard.Notice {
		t.Helper()
		select {
		case n := <-notices:
			return n
		case <-time.After(5 * time.Second):
			t.Fatal("no notice came")
			return scoreboard.Notice{}
		}
	}
}
