package ranking_test

import (
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/backendtest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// TestChangesOfLostHistoryStayOut restores the store to an earlier state. Late
// changes from the lost history have higher revisions than the restored ones.
func TestChangesOfLostHistoryStayOut(t *testing.T) {
	t.Parallel()
	r := connect(t, backendtest.Redis(t))
	r.warm(t, board, change("alice", 10, 5, 1), change("bob", 3, 1, 1))
	since := time.UnixMicro(2_000_000_000_000_000)
	at := func(c scoreboard.Change, at time.Time) scoreboard.Change {
		c.RecordedAt = at
		return c
	}
	if ok, err := r.Mark(ctx, board.ID, "token"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	// A lost change between the mark and the fence.
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
	if _, err := r.Swap(ctx, board, "token", 1, 77, board.Created); err != nil {
		t.Fatal(err)
	}
	r.is(t, "carol:7 alice:2")
	r.apply(
		t, at(change("alice", 50, 9, 9), since.Add(-time.Second)),
		at(change("alice", 4, 3, 9), since.Add(time.Minute)),
	)
	r.is(t, "carol:7 alice:4")
	// An ordinary rebuild keeps the fence.
	if ok, err := r.Mark(ctx, board.ID, "again"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	r.apply(t, at(change("mallory", 99, 9, 9), since.Add(-time.Second)))
	if _, err := r.Swap(ctx, board, "again", 0, 78, board.Created); err != nil {
		t.Fatal(err)
	}
	r.apply(t, at(change("mallory", 99, 9, 9), since.Add(-time.Second)))
	r.is(t, "")
	if err := r.Fence(ctx, board.ID, "unknown", since); err == nil {
		t.Error("fenced a shadow that does not exist")
	}
}
