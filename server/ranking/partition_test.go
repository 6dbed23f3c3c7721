package ranking_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// divided is the board of these tests, in partitions.
func divided(partitions int) *scoreboard.Board {
	b := *board
	b.Partitions = partitions
	return &b
}

// onEach runs a test on a real Redis, on the stand-in of the development stack and on a
// cluster.
func onEach(t *testing.T, do func(t *testing.T, r rig)) {
	t.Parallel()
	backends.EachRedis(t, func(t *testing.T, url string) { do(t, connect(t, url)) })
	t.Run("cluster", func(t *testing.T) {
		r := rig{rdb: backends.OwnRedisCluster(t, 3, 0).Client()}
		r.Ranking = ranking.New(r.rdb)
		do(t, r)
	})
}

// another is a second process on the same Redis.
func (r rig) another() rig { return rig{ranking.New(r.rdb), r.rdb} }

// rebuild rebuilds a board from states, without those that come meanwhile.
func (r rig) rebuild(t testing.TB, b *scoreboard.Board, states func() []scoreboard.Change) {
	t.Helper()
	token := fmt.Sprint(rand.Int64())
	if ok, err := r.Claim(ctx, b, token); !ok || err != nil {
		t.Fatalf("claim: %v, %v", ok, err)
	}
	read := states()
	for chunk := range slices.Chunk(read, 50) {
		if err := r.Fill(ctx, b.ID, token, chunk); err != nil {
			t.Fatal(err)
		}
	}
	epoch, err := r.Epoch(ctx, b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Swap(ctx, b, token, snapshot(int64(len(read)), epoch+1)); err != nil {
		t.Fatal(err)
	}
}

// TestPartitionsGrowAndShrink rebuilds a board into other numbers of partitions while two
// processes apply changes and another one reads: no update is lost, and neither epoch nor
// version of a reader goes back.
func TestPartitionsGrowAndShrink(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		r.warm(t, board)
		var mu sync.Mutex
		stored := make(map[scoreboard.UserID]scoreboard.Change) // as PostgreSQL has it
		snapshotOf := func() []scoreboard.Change {
			mu.Lock()
			defer mu.Unlock()
			var all []scoreboard.Change
			for _, c := range stored {
				all = append(all, c)
			}
			return all
		}
		var running sync.WaitGroup
		stop := make(chan struct{})
		end := sync.OnceFunc(func() {
			close(stop)
			running.Wait()
		})
		defer end()
		var applied atomic.Int64
		for process := range 2 {
			applier := r.another()
			running.Go(func() {
				for i := int64(1); ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					var batch []scoreboard.Change
					for range 1 + rand.IntN(5) {
						user := fmt.Sprintf("user-%d-%d", process, rand.IntN(100))
						c := change(user, rand.Int64N(50), applied.Add(1), rand.Int64N(3))
						c.Hidden = rand.IntN(20) == 0
						mu.Lock()
						stored[c.User] = c
						mu.Unlock()
						batch = append(batch, c)
					}
					for { // as the projection does
						if _, err := applier.Apply(ctx, batch); err == nil {
							break
						}
						time.Sleep(time.Millisecond)
					}
				}
			})
		}
		reader := r.another()
		running.Go(func() {
			var epoch, version int64
			for {
				select {
				case <-stop:
					return
				default:
				}
				top, err := reader.Top(ctx, board)
				if errors.Is(err, scoreboard.ErrNotLoaded) {
					continue // while partitions are swapped: PostgreSQL is read
				}
				if err != nil {
					t.Error(err)
					return
				}
				if top.Epoch < epoch || top.Epoch == epoch && top.Version < version {
					t.Errorf("epoch %d, version %d follow %d, %d", top.Epoch, top.Version, epoch, version)
				}
				epoch, version = top.Epoch, top.Version
			}
		})
		for _, partitions := range []int{8, 8, 3, 1, 2, 16, 1} {
			b := divided(partitions)
			r.rebuild(t, b, snapshotOf)
			if s, err := r.Status(ctx, b.ID); err != nil || s.Partitions != partitions {
				t.Errorf("after a rebuild: %+v, %v; want %d partitions", s, err, partitions)
			}
			before := applied.Load()
			for applied.Load() < before+50 {
				time.Sleep(time.Millisecond)
			}
		}
		b := divided(4)
		r.rebuild(t, b, snapshotOf)
		end()
		ranked := 0
		for _, c := range stored {
			place, err := r.Place(ctx, b, c.User, 0)
			switch {
			case c.Hidden && wire.CodeOf(err) != wire.CodeNotFound:
				t.Errorf("%s is hidden, and placed: %v", c.User, err)
			case c.Hidden:
			case err != nil:
				t.Errorf("%s: %v", c.User, err)
			case place.Revision != c.Revision || place.Score != c.Score:
				t.Errorf("%s has %d, revision %d; want %d, %d",
					c.User, place.Score, place.Revision, c.Score, c.Revision)
			}
			if !c.Hidden {
				ranked++
			}
		}
		if top := r.top(t); top.Total != int64(ranked) {
			t.Errorf("%d users are ranked, want %d", top.Total, ranked)
		}
		for _, key := range r.allKeys(t) {
			if strings.Contains(key, "/") && !strings.Contains(key, "/4/") || strings.Contains(key, "shadow") {
				t.Errorf("key %s is left", key)
			}
		}
	})
}

// allKeys lists the keys of all servers.
func (r rig) allKeys(t testing.TB) []string {
	t.Helper()
	cluster, ok := r.rdb.(*redis.ClusterClient)
	if !ok {
		return r.keys(t)
	}
	var mu sync.Mutex
	var all []string
	if err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		keys, err := node.Keys(ctx, "*").Result()
		mu.Lock()
		defer mu.Unlock()
		all = append(all, keys...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestStaleMergerIsRejected stops a process between reading the partitions and storing the
// merged top, while another one goes on, and while the board is rebuilt.
func TestStaleMergerIsRejected(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		b := divided(4)
		r.warm(t, b, change("alice", 5, 1, 1), change("bob", 4, 1, 1))
		fast := r.another()
		want := r.top(t)
		stored, err := r.MergeSlowly(ctx, b, func() {})
		if !stored || err != nil {
			t.Fatalf("a merger that is not slow: %v, %v; want stored", stored, err)
		}
		if stored, err = r.MergeSlowly(ctx, b, func() {
			fast.apply(t, change("bob", 9, 2, 2))
			want = fast.top(t)
		}); stored || err != nil {
			t.Errorf("a merger of before a change: %v, %v; want rejected", stored, err)
		}
		if got := r.top(t); show(got.Entries) != "bob:9 alice:5" || got.Version != want.Version {
			t.Errorf("the board is %s, version %d; want version %d", show(got.Entries), got.Version, want.Version)
		}
		if stored, err = r.MergeSlowly(ctx, b, func() {
			r.rebuild(t, b, func() []scoreboard.Change { return []scoreboard.Change{change("carol", 1, 1, 1)} })
		}); stored || err != nil {
			t.Errorf("a merger of before a rebuild: %v, %v; want rejected", stored, err)
		}
		r.is(t, "carol:1")
	})
}

// TestCrashedMergerIsHealed applies a change without merging the merged top; the next change, or
// the next check, merges it.
func TestCrashedMergerIsHealed(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		b := divided(4)
		r.warm(t, b)
		if err := r.ApplyOnly(ctx, b, change("alice", 5, 1, 1)); err != nil {
			t.Fatal(err)
		}
		r.is(t, "")
		r.apply(t, change("bob", 4, 1, 1))
		r.is(t, "alice:5 bob:4")
		if err := r.ApplyOnly(ctx, b, change("alice", 3, 2, 2)); err != nil {
			t.Fatal(err)
		}
		r.is(t, "alice:5 bob:4")
		if missing, suspect, unknown, err := r.Unhealthy(
			ctx, []scoreboard.Board{*b},
		); len(missing)+len(suspect)+unknown > 0 || err != nil {
			t.Errorf("lost: %v, %v, %d, %v; want none", missing, suspect, unknown, err)
		}
		r.is(t, "bob:4 alice:3")
		// A batch that is applied again after its process died merges, too.
		again := change("carol", 8, 1, 1)
		if err := r.ApplyOnly(ctx, b, again); err != nil {
			t.Fatal(err)
		}
		r.apply(t, again)
		r.is(t, "carol:8 bob:4 alice:3")
	})
}

// TestTotalOfPartitions reads a merged top whose partitions have got more and fewer users since it was merged: the
// total is that of its rows, also after a build that stores none has merged it.
func TestTotalOfPartitions(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		b := divided(4)
		r.warm(t, b, change("alice", 5, 1, 1))
		total := func(rows string, want int64) {
			t.Helper()
			if top := r.top(t); show(top.Entries) != rows || top.Total != want {
				t.Errorf("got %s of %d users, want %s of %d", show(top.Entries), top.Total, rows, want)
			}
		}
		total("alice:5", 1)
		bob := change("bob", 4, 1, 1)
		if err := r.ApplyOnly(ctx, b, bob); err != nil {
			t.Fatal(err)
		}
		total("alice:5", 1)
		r.apply(t, bob)
		total("alice:5 bob:4", 2)
		if err := r.ApplyOnly(ctx, b, hidden(change("alice", 5, 2, 2))); err != nil {
			t.Fatal(err)
		}
		total("alice:5 bob:4", 2)
		if err := r.rdb.HSet(ctx, r.HeadKey(b), "total", "7/9 9 9 9").Err(); err != nil {
			t.Fatal(err)
		}
		total("alice:5 bob:4", 1) // of its partitions
	})
}

// TestNoticesOfPartitions counts notices: one for each batch, with the merged top if the merged
// top 100 changed.
func TestNoticesOfPartitions(t *testing.T) {
	onEach(t, func(t *testing.T, r rig) {
		b := divided(8)
		var states []scoreboard.Change
		for i := range 150 {
			states = append(states, change(fmt.Sprintf("user-%03d", i), 1000-int64(i), 1, 1))
		}
		r.warm(t, b, states...)
		notices := make(chan scoreboard.Notice, 100)
		follow, stop := context.WithCancel(ctx)
		defer stop()
		var following sync.WaitGroup
		following.Go(func() {
			_ = r.Follow(follow, func(n scoreboard.Notice) { notices <- n }, func(err error) { t.Error(err) })
		})
		for following := false; !following; {
			r.apply(t, change("first", 1, time.Now().UnixNano(), 1))
			select {
			case <-notices:
				following = true
			case <-time.After(10 * time.Millisecond):
			}
		}
		r.apply(t, change("second", 1, 1, 1))
		for n := range notices {
			if n.Moved[0].User == "second" {
				break
			}
		}
		version := r.top(t).Version
		next := func(what string, withTop bool, users ...scoreboard.UserID) {
			t.Helper()
			n := <-notices
			if (n.Top != nil) != withTop || n.Board != b.ID {
				t.Fatalf("%s: got a notice with a top: %v, want %v", what, n.Top != nil, withTop)
			}
			var moved []scoreboard.UserID
			for _, m := range n.Moved {
				moved = append(moved, m.User)
			}
			slices.Sort(moved)
			if !slices.Equal(moved, users) {
				t.Errorf("%s: moved %v, want %v", what, moved, users)
			}
			if withTop {
				version++
				if n.Top.Version != version || len(n.Top.Entries) != 100 || n.Top.Total != 152 {
					t.Errorf("%s: version %d with %d of %d, want %d with 100 of 152",
						what, n.Top.Version, len(n.Top.Entries), n.Top.Total, version)
				}
			}
		}
		r.apply(t, change("user-120", 850, 2, 2), change("user-130", 845, 2, 2))
		next("below the merged top", false, "user-120", "user-130")
		r.apply(t, change("user-120", 990, 3, 3), change("user-140", 2, 2, 3))
		next("in the merged top", true, "user-120", "user-140")
		r.apply(t, change("user-120", 990, 3, 3)) // nothing new: no notice
		out := hidden(change("user-000", 1000, 2, 4))
		r.apply(t, out)
		n := <-notices
		if n.Top == nil || !n.Hides || n.Top.Entries[0].User != "user-001" {
			t.Errorf("after a ban: %+v", n)
		}
		stop()
		following.Wait()
	})
}
