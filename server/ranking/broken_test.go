package ranking_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// breakages are what somebody may do to keys of a board, alice's piece of it, and its merged top.
func breakages(b *scoreboard.Board) map[string]func(rig) error {
	wrong := func(key string) func(r rig) error {
		return func(r rig) error {
			name := r.keyOf(b, "alice", key)
			if err := r.rdb.Del(ctx, name).Err(); err != nil {
				return err
			}
			return r.rdb.LPush(ctx, name, "x").Err()
		}
	}
	field := func(key, field string) func(r rig) error {
		return func(r rig) error { return r.rdb.HSet(ctx, r.keyOf(b, "alice", key), field, "x").Err() }
	}
	all := map[string]func(rig) error{
		"facts": wrong("meta"), "sorted set": wrong("rank"), "states": wrong("users"),
		"epoch": field("meta", "epoch"), "members": field("meta", "members"), "state": field("users", "alice"),
		"layout": func(r rig) error { return r.rdb.Set(ctx, "sb:{global}:meta", "x", 0).Err() },
	}
	if b.Partitions > 1 {
		all["top"] = func(r rig) error {
			return redis.NewScript(`redis.call('DEL', KEYS[1]); return redis.call('LPUSH', KEYS[1], 'x')`).
				Run(ctx, r.rdb, []string{r.HeadKey(b)}).Err()
		}
		all["layouts"] = func(r rig) error {
			if err := r.rdb.Set(ctx, "sb:{global}:layouts", "x", 0).Err(); err != nil {
				return err
			}
			return wrong("meta")(r)
		}
	}
	return all
}

// One board has a broken key. The changes of another board are applied, and those of the broken
// one wait for its rebuild, which succeeds.
func TestBrokenKeyStopsOneBoardOnly(t *testing.T) {
	eachLayout(t, func(t *testing.T, b *scoreboard.Board) {
		other := &scoreboard.Board{ID: "other", Order: b.Order, Created: b.Created}
		for name, breakIt := range breakages(b) {
			r := connect(t, backends.OwnRedis(t).URL)
			var aside []scoreboard.BoardID
			r.warm(t, b, onBoard(b, change("alice", 5, 1, 1)), onBoard(b, change("bob", 3, 1, 1)))
			r.warm(t, other)
			if err := breakIt(r); err != nil {
				t.Fatal(err)
			}
			r.Ranking = ranking.New(r.rdb) // another process, which knows no layout
			r.OnSetAside(func(id scoreboard.BoardID, _ error) { aside = append(aside, id) })
			notLoaded, err := r.Apply(ctx, []scoreboard.Change{
				onBoard(b, change("alice", 6, 2, 2)), onBoard(other, change("carol", 1, 1, 1)),
			})
			if err != nil || len(notLoaded) != 1 || notLoaded[0] != b.ID {
				t.Errorf("%s: not loaded %v, %v, want the broken board", name, notLoaded, err)
			}
			if top, err := r.Top(ctx, other); err != nil || show(top.Entries) != "carol:1" {
				t.Errorf("%s: the other board: %+v, %v", name, top, err)
			}
			if missing, _, unknown, err := r.Unhealthy(ctx, []scoreboard.Board{*b, *other}); err != nil ||
				len(missing) != 1 || missing[0].ID != b.ID || unknown != 0 {
				t.Errorf("%s: missing %v, unknown %d, %v, want the broken board", name, missing, unknown, err)
			}
			if name == "epoch" { // the board is not loaded, and nothing is in the way of its rebuild
				continue
			}
			if len(aside) != 1 || aside[0] != b.ID {
				t.Errorf("%s: set aside %v", name, aside)
			}
			if list, err := r.RecentlySetAside(ctx); err != nil || len(list) != 1 || list[0].Board != b.ID ||
				list[0].Reason == "" {
				t.Errorf("%s: reported %+v, %v", name, list, err)
			}
			r.warm(t, b, onBoard(b, change("alice", 6, 2, 2)), onBoard(b, change("bob", 3, 1, 1)))
			if top, err := r.Top(ctx, b); err != nil || show(top.Entries) != "alice:6 bob:3" {
				t.Errorf("%s: rebuilt, got %+v, %v", name, top, err)
			}
		}
	})
}

// Nothing changes on the broken board: the rebuilder finds, reports and rebuilds it.
func TestBrokenKeyIsFoundWithoutChanges(t *testing.T) {
	eachLayout(t, func(t *testing.T, b *scoreboard.Board) {
		for name, breakIt := range breakages(b) {
			if name == "state" { // the comparison of users finds it
				continue
			}
			r := connect(t, backends.OwnRedis(t).URL)
			r.warm(t, b, onBoard(b, change("alice", 5, 1, 1)))
			if err := breakIt(r); err != nil {
				t.Fatal(err)
			}
			if missing, suspect, unknown, err := r.Unhealthy(ctx, []scoreboard.Board{*b}); err != nil ||
				len(missing)+len(suspect) != 1 || unknown != 0 {
				t.Errorf("%s: missing %v, suspect %v, unknown %d, %v", name, missing, suspect, unknown, err)
			}
			// The doctor names it, but for one without a readable epoch, which is not loaded.
			if list, err := r.RecentlySetAside(ctx); err != nil || name != "epoch" &&
				(len(list) != 1 || list[0].Board != b.ID || list[0].Reason == "") {
				t.Errorf("%s: reported %+v, %v", name, list, err)
			}
			rebuilt := false
			for range 3 { // an attempt that finds the key broken sets the board aside
				if ok, err := r.Claim(ctx, b, "again"); !ok || err != nil {
					continue
				}
				states := []scoreboard.Change{onBoard(b, change("alice", 5, 1, 1))}
				if err := r.Fill(ctx, b.ID, "again", states); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				epoch, err := r.Epoch(ctx, b)
				if err == nil {
					_, err = r.Swap(ctx, b, "again", snapshot(1, epoch+1))
				}
				if rebuilt = err == nil; rebuilt {
					break
				}
				if err := r.Release(ctx, b.ID, "again"); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			if top, err := r.Top(ctx, b); !rebuilt || err != nil || show(top.Entries) != "alice:5" {
				t.Errorf("%s: rebuilt %t, got %+v, %v", name, rebuilt, top, err)
			}
		}
	})
}

// A rebuild that runs when its board is set aside may lack the changes: it must not succeed.
func TestSettingAsideEndsARebuild(t *testing.T) {
	eachLayout(t, func(t *testing.T, b *scoreboard.Board) {
		r := connect(t, backends.OwnRedis(t).URL)
		r.warm(t, b, onBoard(b, change("alice", 5, 1, 1)))
		if ok, err := r.Claim(ctx, b, "early"); !ok || err != nil {
			t.Fatalf("claim: %v, %v", ok, err)
		}
		if err := r.Fill(ctx, b.ID, "early", []scoreboard.Change{onBoard(b, change("alice", 5, 1, 1))}); err != nil {
			t.Fatal(err)
		}
		if err := breakages(b)["facts"](r); err != nil {
			t.Fatal(err)
		}
		notLoaded, err := r.Apply(ctx, []scoreboard.Change{onBoard(b, change("alice", 6, 2, 2))})
		if err != nil || len(notLoaded) != 1 {
			t.Fatalf("apply: not loaded %v, %v", notLoaded, err)
		}
		if _, err := r.Swap(ctx, b, "early", snapshot(1, 99)); err == nil {
			t.Error("a rebuild that lacks a change replaced the board")
		}
	})
}

// The record of heartbeats is of another type: boards are not to blame for it.
func TestBrokenHeartbeatsAreReplaced(t *testing.T) {
	t.Parallel()
	r := connect(t, backends.OwnRedis(t).URL)
	r.OnSetAside(func(id scoreboard.BoardID, err error) { t.Errorf("board %s was set aside: %v", id, err) })
	r.warm(t, board)
	if err := r.rdb.Set(ctx, "sb:fresh", "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	r.apply(t, change("alice", 5, 1, 1))
	beat(t, r.Ranking, board.Created)
	r.is(t, "alice:5")
}
