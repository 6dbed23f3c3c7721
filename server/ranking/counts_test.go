package ranking_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// keyOf names a key of the piece of a board that has a user: its sorted set or its states.
func (r rig) keyOf(b *scoreboard.Board, user scoreboard.UserID, key string) string {
	facts := "sb:{" + string(b.ID) + "}:meta"
	if b.Partitions > 1 {
		facts = r.PartitionKey(b, user)
	}
	return strings.TrimSuffix(facts, "meta") + key
}

// expectNotLoaded checks that everything says that a board is not loaded, and not that it is empty.
func (r rig) expectNotLoaded(t *testing.T, b *scoreboard.Board) {
	t.Helper()
	users := []scoreboard.UserID{"alice"}
	_, topErr := r.Top(ctx, b)
	_, placeErr := r.Place(ctx, b, "alice", 1)
	_, listErr := r.List(ctx, b, users)
	_, pageErr := r.Page(ctx, b, &scoreboard.Position{Key: -1 << 53}, 10)
	_, ranksErr := r.Ranks(ctx, b, users, make([]*scoreboard.Pair, 1))
	_, statesErr := r.States(ctx, b.ID, users)
	for name, err := range map[string]error{
		"top": topErr, "place": placeErr, "list": listErr, "page": pageErr, "ranks": ranksErr, "states": statesErr,
	} {
		if !isNotLoaded(err) {
			t.Errorf("%s: got %v, want not loaded", name, err)
		}
	}
	missing, suspect, unknown, err := r.Unhealthy(ctx, []scoreboard.Board{*b})
	if err != nil || len(missing) != 1 || len(suspect)+unknown != 0 {
		t.Errorf("missing %v, suspect %v, unknown %d, %v; want the board missing", missing, suspect, unknown, err)
	}
	if status, err := r.Status(ctx, b.ID); err != nil || status.State != scoreboard.StateRebuilding {
		t.Errorf("status: got %+v, %v, want rebuilding", status, err)
	}
	notLoaded, err := r.Apply(ctx, []scoreboard.Change{onBoard(b, change("alice", 7, 3, 3))})
	if err != nil || len(notLoaded) != 1 {
		t.Errorf("apply: not loaded %v, %v, want the board", notLoaded, err)
	}
}

// Redis evicts the sorted set or the hash of a board, or somebody removes it.
func TestLostKeyIsNotAnEmptyBoard(t *testing.T) {
	eachLayout(t, func(t *testing.T, b *scoreboard.Board) {
		for _, key := range []string{"rank", "users"} {
			r := connect(t, backends.OwnRedis(t).URL)
			r.warm(t, b, onBoard(b, change("alice", 5, 1, 1)), onBoard(b, change("bob", 3, 1, 1)))
			r.apply(t, onBoard(b, change("alice", 6, 2, 2)), onBoard(b, change("carol", 1, 1, 1)))
			if n, err := r.rdb.Del(ctx, r.keyOf(b, "alice", key)).Result(); err != nil || n != 1 {
				t.Fatalf("%s: removed %d keys, %v", key, n, err)
			}
			r.expectNotLoaded(t, b)
			r.expectNotLoaded(t, b) // also after a change came
			r.warm(t, b, onBoard(b, change("alice", 7, 3, 3)), onBoard(b, change("bob", 3, 1, 1)))
			r.apply(t, onBoard(b, change("bob", 8, 2, 4)))
			if top, err := r.Top(ctx, b); err != nil || show(top.Entries) != "bob:8 alice:7" {
				t.Errorf("%s: rebuilt, got %+v, %v", key, top, err)
			}
		}
	})
}

// What leaves a board on purpose is not missing.
func TestRemovedUsersAreNotMissing(t *testing.T) {
	eachLayout(t, func(t *testing.T, b *scoreboard.Board) {
		r := connect(t, backends.OwnRedis(t).URL)
		r.warm(t, b, onBoard(b, change("alice", 5, 1, 1)), onBoard(b, change("bob", 3, 1, 1)))
		hidden := onBoard(b, change("alice", 5, 2, 2))
		hidden.Hidden = true
		r.apply(t, hidden)
		states, err := r.States(ctx, b.ID, []scoreboard.UserID{"bob"})
		if err != nil {
			t.Fatal(err)
		}
		none := scoreboard.Change{Type: scoreboard.ChangeScore, Board: b.ID, User: "bob"}
		if repaired, err := r.Repair(ctx, &none, states[0]); err != nil || !repaired {
			t.Fatalf("repaired %t, %v", repaired, err)
		}
		if top, err := r.Top(ctx, b); err != nil || top.Total != 0 {
			t.Errorf("got %+v, %v, want an empty board", top, err)
		}
		orphan := "12345678dave"
		if err := r.rdb.ZAdd(ctx, r.keyOf(b, "dave", "rank"), redis.Z{Score: 1, Member: orphan}).Err(); err != nil {
			t.Fatal(err)
		}
		r.apply(t, onBoard(b, change("dave", 4, 1, 1))) // with the orphan, the set has two of dave
		removed, err := r.Remove(ctx, b.ID, scoreboard.OrphanedMember{User: "dave", Member: orphan})
		if err != nil || !removed {
			t.Fatalf("removed %t, %v", removed, err)
		}
		if top, err := r.Top(ctx, b); err != nil || show(top.Entries) != "dave:4" {
			t.Errorf("got %+v, %v, want dave", top, err)
		}
	})
}
