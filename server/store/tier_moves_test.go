package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

var global = []scoreboard.BoardID{scoreboard.GlobalBoard}

// readTiers returns the moves since the last pass, once everything that is committed is in them:
// transactions of other tests in the cluster delay it.
func readTiers(t *testing.T, s *store.Store, conn *backends.Conn) scoreboard.TierMoves {
	t.Helper()
	now := uint64(conn.Count(t, `select pg_current_xact_id()::text::bigint`))
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		m, err := s.Webhooks.TierMoves(t.Context(), global)
		if err != nil {
			t.Fatal(err)
		}
		if m.To > now {
			return m
		}
		if time.Now().After(deadline) {
			t.Fatalf("transactions below %d have not ended", now)
		}
	}
}

// passTiers is readTiers, and ends the pass.
func passTiers(t *testing.T, s *store.Store, conn *backends.Conn) []scoreboard.TierMove {
	t.Helper()
	m := readTiers(t, s, conn)
	if err := s.Webhooks.SaveTierMoves(t.Context(), &m, nil); err != nil {
		t.Fatal(err)
	}
	return m.Moves
}

// A move leads from the position before a user's own events to the one after them, once. What
// operators change is none.
func TestTierMovesAreOwnEvents(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	first := record(t, s, increment("ada", 5, "one"))[0].Receipts[0].RecordedAt
	if moves := passTiers(t, s, conn); len(moves) != 0 { // nobody had asked before
		t.Errorf("the first pass: got %+v, want none", moves)
	}
	record(t, s, increment("ada", 2, "two"), increment("bob", 3, "three"))
	last := record(t, s, increment("ada", 1, "four"))[0].Receipts[0].RecordedAt
	id, err := scoreboard.ParseEventID("bob", "adjustment")
	if err != nil {
		t.Fatal(err)
	}
	why := &scoreboard.AuditEntry{Actor: "root", Action: "user.adjust", Target: "user:bob", Reason: "a test"}
	if _, err := s.Corrections.Adjust(t.Context(), scoreboard.Adjustment{
		User: "bob", Board: scoreboard.GlobalBoard, Delta: 100, Event: id,
	}, why); err != nil {
		t.Fatal(err)
	}
	moves := passTiers(t, s, conn)
	if len(moves) != 2 || moves[0].User != "ada" || moves[1].User != "bob" {
		t.Fatalf("got %+v, want one of ada and one of bob", moves)
	}
	before := scoreboard.Position{Key: -5, ReachedAt: first, User: "ada"}
	after := scoreboard.Position{Key: -8, ReachedAt: last, User: "ada"}
	if ada := moves[0]; ada.Before == nil || ada.Before.Compare(&before) != 0 || ada.After.Compare(&after) != 0 {
		t.Errorf("got %+v from %+v, want from %+v to %+v", ada, ada.Before, before, after)
	}
	if bob := moves[1]; bob.Before != nil || bob.After.Key != -3 {
		t.Errorf("got %+v, want from no score to 3", bob)
	}
	if moves := passTiers(t, s, conn); len(moves) != 0 {
		t.Errorf("again: got %+v, want none", moves)
	}
	// Of two processes that have read the same moves, one ends the pass.
	record(t, s, increment("ada", 1, "five"))
	read := readTiers(t, s, conn)
	if len(read.Moves) != 1 {
		t.Fatalf("got %+v, want one move", read)
	}
	passTiers(t, s, conn)
	record(t, s, increment("ada", 1, "six"))
	const cursor = `select cursor_xid::text::bigint from tier_state`
	ended := conn.Count(t, cursor)
	if err := s.Webhooks.SaveTierMoves(t.Context(), &read, nil); err != nil {
		t.Fatal(err)
	}
	if now := conn.Count(t, cursor); now != ended {
		t.Errorf("a late pass moved the cursor from %d to %d", ended, now)
	}
	if moves := passTiers(t, s, conn); len(moves) != 1 || moves[0].After.Key != -10 {
		t.Errorf("after a late pass: got %+v, want that to 10", moves)
	}
}

// A pass reads what has changed since the last one, whatever the ledger and the outbox have.
func TestTierMovesReadOnlyTheRowsTheyNeed(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 1 })
	grow(t, s, 0, 20_000, func(int) {})
	passTiers(t, s, conn)
	for i := range 10 {
		record(t, s, increment("u1", 1, fmt.Sprint("late", i)))
	}
	s.Close()
	before := storetest.TableReads(t, conn)
	s = storetest.Open(t, conn.URL, func(o *store.Options) { o.MaxConns = 1 })
	if moves := passTiers(t, s, conn); len(moves) != 1 || moves[0].Before == nil {
		t.Errorf("got %+v, want one move from a score", moves)
	}
	s.Close()
	after := storetest.TableReads(t, conn)
	for _, table := range []string{"user_score_histories", "outbox_score_updates", "users", "scores"} {
		scanned, indexed := after[table].Scanned-before[table].Scanned, after[table].Indexed-before[table].Indexed
		if scanned > 0 || indexed > 200 {
			t.Errorf("%s: %d rows by scans and %d by indexes, want none and at most 200", table, scanned, indexed)
		}
	}
}
