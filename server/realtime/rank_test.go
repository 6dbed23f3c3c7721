package realtime_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// rank reads up to the next user.rank.updated.
func (w *watcher) rank() wire.Message {
	w.t.Helper()
	for {
		if f := w.frame(); f.Type == wire.MessageRank {
			return f
		}
	}
}

func checkRank(t *testing.T, f wire.Message, user string, rank, previous, version int64) {
	t.Helper()
	was := int64(0)
	if f.PreviousRank != nil {
		was = *f.PreviousRank
	}
	if f.UserID != user || f.Rank == nil || *f.Rank != rank || was != previous || f.Version != version ||
		f.Score == nil {
		t.Errorf("got %+v (previous %d), want %s at %d after %d, version %d", f, was, user, rank, previous, version)
	}
}

func TestOwnRankInTheTop(t *testing.T) {
	t.Parallel()
	boards := newRanking("global")
	boards.set("global", of{"alice": 5, "bob": 9})
	r := start(t, realtime.Options{}, boards)
	alice, phone, bob := r.dial("user=alice"), r.dial("user=alice"), r.dial("user=bob")
	for _, w := range []*watcher{alice, phone, bob} {
		w.expect(wire.MessageUpdated)
	}
	r.hub.Notify(boards.set("global", of{"alice": 10}))
	// Alice moved and overtook Bob, whose own version did not change.
	checkRank(t, alice.rank(), "alice", 1, 2, 2)
	checkRank(t, phone.rank(), "alice", 1, 2, 2)
	checkRank(t, bob.rank(), "bob", 2, 1, 0)
	r.hub.Notify(boards.set("global", of{"alice": 11}))
	checkRank(t, alice.rank(), "alice", 1, 1, 3)
}

func TestOwnRankBelowTheTop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		boards.set("global", manyUsers(150))
		r := startInMemory(t, realtime.Options{}, boards)
		// u099 is the last of the top 100, u149 the last of all.
		edge, last := r.dial(query("user", string(user(99)))), r.dial(query("user", string(user(149))))
		edge.frame()
		last.frame()
		// The rank is read when the user joins, without a frame.
		time.Sleep(500 * time.Millisecond)
		r.hub.Notify(boards.set("global", of{user(149): 51_500}))
		checkRank(t, edge.rank(), "u099", 101, 100, 0)
		checkRank(t, last.rank(), "u149", 100, 150, 2)
		// Below the top, users get their own moves too,
		r.hub.Notify(boards.set("global", of{user(99): 49_500}))
		checkRank(t, edge.rank(), "u099", 102, 101, 2)
		// but not those of others.
		r.hub.Notify(boards.set("global", of{user(140): 49_800}))
		edge.quiet(500 * time.Millisecond)
	})
}

func TestNoRankFrameForUnrankedUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		r := startInMemory(t, realtime.Options{}, boards)
		w := r.dial("user=alice")
		w.frame()
		r.hub.Notify(boards.set("global", of{"bob": 1}))
		w.expect(wire.MessageUpdated)
		w.quiet(300 * time.Millisecond)
	})
}

// The ranks of viewers who join together are read together, and within the next interval.
func TestRankLookupsAreCoalesced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		boards.set("global", manyUsers(300))
		r := startInMemory(t, realtime.Options{}, boards)
		var viewers []*watcher
		for i := range 150 {
			w := r.dial(query("user", string(user(120+i))))
			w.frame()
			viewers = append(viewers, w)
		}
		time.Sleep(300 * time.Millisecond)
		boards.edit(func() { boards.lookups = 0 })
		moves := of{}
		for i := range viewers {
			moves[user(120+i)] = scoreboard.Score(49_000 - i)
		}
		r.hub.Notify(boards.set("global", moves))
		for i, w := range viewers {
			if f := w.rank(); f.PreviousRank == nil || *f.PreviousRank != int64(121+i) {
				t.Errorf("viewer %d: got %+v, want the previous rank %d", i, f, 121+i)
			}
		}
		boards.edit(func() {
			if boards.lookups > 4 {
				t.Errorf("150 ranks were read in %d look-ups, want at most 4", boards.lookups)
			}
		})
	})
}

func TestLookupsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		boards.set("global", manyUsers(200))
		r := startInMemory(t, realtime.Options{RankLookups: 20}, boards)
		w := r.dial(query("user", string(user(150))))
		w.frame()
		began := time.Now()
		for i := range 50 {
			r.hub.Notify(boards.set("global", of{user(150): scoreboard.Score(49_000 + i)}))
			time.Sleep(10 * time.Millisecond)
		}
		took := time.Since(began) // half a second, or more on a busy machine
		ranks := 0
		for f := w.rank(); *f.Score != 49_049; f = w.rank() {
			ranks++
		}
		if limit := int(took/(100*time.Millisecond)) + 1; ranks > limit {
			t.Errorf("50 moves in %s came in %d frames, want one a window", took, ranks)
		}
	})
}

func TestOlderStateDoesNotResetRank(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		boards.set("global", manyUsers(150))
		r := startInMemory(t, realtime.Options{CheckEvery: time.Hour}, boards)
		w := r.dial(query("user", string(user(149))))
		w.frame()
		time.Sleep(time.Second) // until the rank of the joining user was read
		third := boards.set("global", of{user(149): 70_500})
		fourth := boards.set("global", of{user(149): 100_500})
		// The look-up is ahead of the notices.
		r.hub.Notify(scoreboard.Notice{Board: "global", Moved: fourth.Moved})
		checkRank(t, w.rank(), "u149", 51, 150, 3)
		r.hub.Notify(third)
		time.Sleep(300 * time.Millisecond)
		r.hub.Notify(fourth)
		time.Sleep(300 * time.Millisecond)
		r.hub.Notify(boards.set("global", of{user(149): 110_500}))
		checkRank(t, w.rank(), "u149", 41, 51, 4)
	})
}

// A rebuild from a restored store moves users without a notice, and their revisions
// start over.
func TestOwnRankAfterRestore(t *testing.T) {
	t.Parallel()
	boards := newRanking("global")
	boards.set("global", manyUsers(150))
	r := start(t, realtime.Options{CheckEvery: time.Hour}, boards)
	w := r.dial(query("user", string(user(149))))
	w.frame()
	for i := range 3 {
		r.hub.Notify(boards.set("global", of{user(149): scoreboard.Score(49_000 + i)}))
	}
	for f := w.rank(); *f.Score != 49_002; f = w.rank() {
	}
	boards.edit(func() {
		b := boards.boards["global"]
		b.epoch, b.version, b.moves[user(149)], b.of[user(149)] = 99, 1, 1, 48_000
	})
	top, err := boards.ReadTop(t.Context(), "global")
	if err != nil {
		t.Fatal(err)
	}
	r.hub.Notify(scoreboard.Notice{Board: "global", Top: top})
	if f := w.rank(); *f.Score != 48_000 || f.Epoch != 99 {
		t.Errorf("after the rebuild: got %+v (score %d), want score 48000 of epoch 99", f, *f.Score)
	}
	r.hub.Notify(boards.set("global", of{user(149): 48_500})) // revision 2, below those before
	if f := w.rank(); *f.Score != 48_500 || f.Version != 2 {
		t.Errorf("the next move: got %+v (score %d), want score 48500, version 2", f, *f.Score)
	}
}

// A look-up of the own rank fails: it is repeated with the next change of the board.
func TestFailedRankLookUpIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		boards.set("global", manyUsers(150))
		r := startInMemory(t, realtime.Options{}, boards)
		w := r.dial(query("user", string(user(149))))
		w.frame()
		time.Sleep(500 * time.Millisecond)
		boards.edit(func() { boards.errPlaces = errors.New("it hangs") })
		r.hub.Notify(boards.set("global", of{user(149): 5_500}))
		time.Sleep(time.Second)
		boards.edit(func() { boards.errPlaces = nil })
		r.hub.Notify(boards.set("global", of{user(0): 999_999}))
		checkRank(t, w.rank(), "u149", 146, 150, 2)
	})
}
