package ranking_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// beat records the heartbeat of the only partition.
func (r rig) beat(t testing.TB, asOf time.Time) {
	t.Helper()
	time.Sleep(120 * time.Millisecond) // the freshness that was read before is no longer cached
	err := r.RecordHeartbeats(ctx, []scoreboard.Heartbeat{{Shards: 1, Partitions: 1, AsOf: asOf}})
	if err != nil {
		t.Fatal(err)
	}
}

// expectAsOf checks every read of the board with bob on it.
func (r rig) expectAsOf(t testing.TB, why string, want time.Time, state scoreboard.BoardState) {
	t.Helper()
	top, place := r.top(t), r.place(t, "bob")
	list, err := r.List(ctx, board, []scoreboard.UserID{"bob"})
	if err != nil {
		t.Fatal(err)
	}
	page, err := r.Page(ctx, board, &scoreboard.Position{Key: -1 << 53}, 10)
	if err != nil {
		t.Fatal(err)
	}
	condition, err := r.Status(ctx, board.ID)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]struct {
		asOf  time.Time
		state scoreboard.BoardState
	}{
		"top": {top.AsOf, top.State}, "place": {place.AsOf, place.State}, "list": {list.AsOf, list.State},
		"page": {page.AsOf, page.State}, "condition": {condition.AsOf, condition.State},
	} {
		if !got.asOf.Equal(want) || got.state != state {
			t.Errorf("%s: the %s is as of %s, %s; want %s, %s", why, name, got.asOf, got.state, want, state)
		}
	}
}

// Before the first heartbeat, a board is as old as the snapshot that it was built from.
func TestBoardIsAsOldAsItsSnapshot(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		r.apply(t, change("bob", 3, 1, 1))
		r.expectAsOf(t, "without a heartbeat", board.Created, scoreboard.StateCatchingUp)
		beat := scoreboard.Heartbeat{
			Shards: 1, Partitions: 2, AsOf: time.Now().Add(5 * time.Second).Truncate(time.Microsecond).UTC(),
		}
		for ; beat.Partition < beat.Partitions; beat.Partition++ {
			r.expectAsOf(t, "with some heartbeats", board.Created, scoreboard.StateCatchingUp)
			if err := r.RecordHeartbeats(ctx, []scoreboard.Heartbeat{beat}); err != nil {
				t.Fatal(err)
			}
		}
		r.expectAsOf(t, "with all heartbeats", beat.AsOf, scoreboard.StateHealthy)
	})
}

// Redis returns with an older state after changes were applied. New heartbeats must
// not claim that the boards in it have them.
func TestOldStateOfRedisIsNotTrusted(t *testing.T) {
	t.Parallel()
	own := backends.OwnRedis(t)
	r := connect(t, own.URL)
	old := time.Now().Add(5 * time.Second).Truncate(time.Microsecond).UTC()
	r.warm(t, board, change("bob", 3, 1, 1))
	r.beat(t, old)
	r.expectAsOf(t, "before", old, scoreboard.StateHealthy)
	own.Stop() // saves its state
	own.Start()
	r.apply(t, change("alice", 5, 1, 1))
	if got := r.top(t).AsOf; !got.Equal(old) {
		t.Errorf("before a heartbeat: as of %s, want %s, when all that it holds was applied", got, old)
	}
	r.beat(t, old.Add(time.Second))
	r.expectCatchingUp(t, "after a heartbeat", old)
	own.Stop()
	own.Start()
	last := time.Now().Add(9 * time.Second).Truncate(time.Microsecond).UTC()
	r.beat(t, last)
	r.expectCatchingUp(t, "after a second restart", board.Created) // as its snapshot
	r.warm(t, board, change("bob", 3, 1, 1), change("alice", 5, 1, 1))
	time.Sleep(120 * time.Millisecond)
	r.expectAsOf(t, "rebuilt", last, scoreboard.StateHealthy)
}

// expectCatchingUp is expectAsOf for a board of another server.
func (r rig) expectCatchingUp(t testing.TB, why string, want time.Time) {
	t.Helper()
	r.expectAsOf(t, why, want, scoreboard.StateCatchingUp)
	missing, suspect, _, err := r.Unhealthy(ctx, []scoreboard.Board{*board})
	if err != nil || len(missing) != 0 || len(suspect) != 1 {
		t.Errorf("%s: missing %v, suspect %v, %v; want the board suspect", why, missing, suspect, err)
	}
}

// A notice of a board that Redis holds in an old state must not replace what nodes
// have cached as current.
func TestNoticeOfOldStateIsIncomplete(t *testing.T) {
	t.Parallel()
	own := backends.OwnRedis(t)
	r := connect(t, own.URL)
	r.warm(t, board)
	r.beat(t, time.Now())
	own.Stop()
	own.Start()
	r.beat(t, time.Now())
	next := follow(t, r)
	r.apply(t, change("alice", 5, 1, 1))
	if n := next(); n.Top == nil || !n.Top.AsOf.IsZero() {
		t.Errorf("got %+v, want a notice without as_of", n.Top)
	}
}

// Boards of the history that the store has left are not read until they are rebuilt.
func TestBoardsOfLostHistoryAreNotRead(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		r.apply(t, change("bob", 3, 1, 1))
		if err := r.Distrust(ctx, 7); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Top(ctx, board); !isNotLoaded(err) {
			t.Errorf("top: got %v, want not loaded", err)
		}
		if _, err := r.Place(ctx, board, "bob", 0); !isNotLoaded(err) {
			t.Errorf("place: got %v, want not loaded", err)
		}
		if _, suspect, _, err := r.Unhealthy(ctx, []scoreboard.Board{*board}); err != nil || len(suspect) != 1 {
			t.Errorf("suspect %v, %v; want the board", suspect, err)
		}
		if c, err := r.Status(ctx, board.ID); err != nil || c.State != scoreboard.StateRebuilding {
			t.Errorf("condition %+v, %v", c, err)
		}
		if _, err := r.Claim(ctx, board, "a"); err != nil {
			t.Fatal(err)
		}
		if err := r.Fence(ctx, board.ID, "a", time.UnixMicro(7)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Swap(ctx, board, "a", snapshot(0, 50)); err != nil {
			t.Fatal(err)
		}
		r.is(t, "")
		if _, suspect, _, err := r.Unhealthy(ctx, []scoreboard.Board{*board}); err != nil || len(suspect) != 0 {
			t.Errorf("rebuilt: suspect %v, %v", suspect, err)
		}
	})
}

// A server that takes over may lack the last changes, while a node still knows how far the former one had
// come: its boards are as old as its own record says.
func TestServerThatIsBehindIsAsOldAsItSays(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 4} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			t.Parallel()
			r := connect(t, backends.OwnRedis(t).URL)
			b := *board
			b.Partitions = partitions
			r.warm(t, &b, change("bob", 3, 1, 1))
			old := time.Now().Add(time.Second).Truncate(time.Microsecond).UTC()
			r.beat(t, old)
			behind := r.dump(t)
			r.apply(t, change("alice", 5, 1, 1))
			r.beat(t, old.Add(time.Second))
			current := r.dump(t)
			for name, asOf := range map[string]func() (time.Time, error){
				"top": func() (time.Time, error) {
					top, err := r.Top(ctx, &b)
					return top.AsOf, err
				},
				"place": func() (time.Time, error) {
					place, err := r.Place(ctx, &b, "bob", 2)
					return place.AsOf, err
				},
				"list": func() (time.Time, error) {
					list, err := r.List(ctx, &b, []scoreboard.UserID{"bob"})
					return list.AsOf, err
				},
				"page": func() (time.Time, error) {
					page, err := r.Page(ctx, &b, &scoreboard.Position{Key: -1 << 53}, 10)
					return page.AsOf, err
				},
			} {
				r.restore(t, current)
				time.Sleep(120 * time.Millisecond) // what was known before has expired
				for _, at := range []struct {
					server map[string]string
					want   time.Time
				}{{current, old.Add(time.Second)}, {behind, old}} {
					r.restore(t, at.server)
					if got, err := asOf(); err != nil || !got.Equal(at.want) {
						t.Errorf("the %s is as of %s, %v; want %s", name, got, err, at.want)
					}
				}
			}
			// Nor does a notice of the first change on it claim more.
			r.restore(t, current)
			time.Sleep(120 * time.Millisecond)
			r.top(t)
			r.restore(t, behind)
			next := follow(t, r)
			r.apply(t, change("carol", 9, 1, 1))
			if n := next(); n.Top != nil && n.Top.AsOf.After(old) {
				t.Errorf("got a notice as of %s, want %s at most", n.Top.AsOf, old)
			}
		})
	}
}

// dump returns everything that Redis has.
func (r rig) dump(t testing.TB) map[string]string {
	t.Helper()
	names, err := r.rdb.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string, len(names))
	for _, name := range names {
		if all[name], err = r.rdb.Dump(ctx, name).Result(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// restore replaces everything that Redis has, as if another server had taken over.
func (r rig) restore(t testing.TB, all map[string]string) {
	t.Helper()
	if _, err := r.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.FlushAll(ctx)
		for name, value := range all {
			p.Restore(ctx, name, 0, value)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
