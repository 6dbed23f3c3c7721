package ranking_test

import (
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// TestChangesOfLostHistoryStayOut restores the store to an earlier state. Late
// changes from the lost history have higher revisions than the restored ones.
func TestChangesOfLostHistoryStayOut(t *testing.T) {
	t.Parallel()
	r := connect(t, backends.Redis(t))
	r.warm(t, board, change("alice", 10, 5, 1), change("bob", 3, 1, 1))
	since := time.UnixMicro(2_000_000_000_000_000)
	at := func(c scoreboard.Change, at time.Time) scoreboard.Change {
		c.RecordedAt = at
		return c
	}
	if ok, err := r.Claim(ctx, board, "token"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	// A lost change between the claim and the fence.
	r.apply(t, at(change("mallory", 99, 9, 9), since.Add(-time.Second)))
	if err := r.Fence(ctx, board.ID, "token", since); err != nil {
		t.Fatal(err)
	}
	// A lost change after the fence, in a batch with a new one.
	r.apply(
		t, at(change("alice", 50, 9, 9), since.Add(-time.Second)),
		at(change("carol", 7, 1, 9), since.Add(time.Second)),
	)
	restored := at(change("alice", 2, 2, 2), since.Add(-time.Hour)) // in the restored store
	if err := r.Fill(ctx, board.ID, "token", []scoreboard.Change{restored}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Swap(ctx, board, "token", snapshot(1, 77)); err != nil {
		t.Fatal(err)
	}
	r.is(t, "carol:7 alice:2")
	r.apply(
		t, at(change("alice", 50, 9, 9), since.Add(-time.Second)),
		at(change("alice", 4, 3, 9), since.Add(time.Minute)),
	)
	r.is(t, "carol:7 alice:4")
	// An ordinary rebuild keeps the fence.
	if ok, err := r.Claim(ctx, board, "again"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	r.apply(t, at(change("mallory", 99, 9, 9), since.Add(-time.Second)))
	if _, err := r.Swap(ctx, board, "again", snapshot(0, 78)); err != nil {
		t.Fatal(err)
	}
	r.apply(t, at(change("mallory", 99, 9, 9), since.Add(-time.Second)))
	r.is(t, "")
	if err := r.Fence(ctx, board.ID, "unknown", since); err == nil {
		t.Error("fenced a shadow that does not exist")
	}
}

// Several processes check the history. What one of them read long ago must not replace
// a later position or another history.
func TestHistoryAdvancesOnlyFromWhatWasRead(t *testing.T) {
	t.Parallel()
	r := connect(t, backends.Redis(t))
	history := func(id string, position, adopted int64) scoreboard.History {
		return scoreboard.History{ID: id, Position: position, Adopted: adopted}
	}
	advance := func(before, now, want scoreboard.History) {
		t.Helper()
		if err := r.AdvanceHistory(ctx, before, now); err != nil {
			t.Fatal(err)
		}
		if got, err := r.History(ctx); err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
	none := history("", 0, scoreboard.UnknownAdoption)
	if got, err := r.History(ctx); err != nil || got != none {
		t.Fatalf("got %+v, %v; want none", got, err)
	}
	a10, a20 := history("a", 10, 0), history("a", 20, 0)
	advance(none, a10, a10)
	advance(none, a20, a10) // it was read before the first was stored
	advance(a10, a20, a20)
	advance(a10, history("a", 15, 0), a20) // slower than the other
	claimed := scoreboard.History{ID: "a", Position: 18, Checks: 7}
	a20.Checks = 7
	advance(a10, claimed, a20) // each keeps what is further on
	b := history("b", 3, 99)
	if err := r.SetHistory(ctx, b); err != nil {
		t.Fatal(err)
	}
	advance(a20, history("a", 30, 0), b)
	advance(history("b", 3, 0), history("b", 9, 0), b) // read before the adoption
	advance(b, history("b", 9, 99), history("b", 9, 99))
	// A part of it is lost.
	if err := r.rdb.HDel(ctx, "sb:history", "adopted").Err(); err != nil {
		t.Fatal(err)
	}
	advance(history("b", 9, scoreboard.UnknownAdoption), history("b", 12, 99), history("b", 12, 99))
}
