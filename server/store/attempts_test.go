package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

func limitAttempts(t testing.TB, conn *backends.Conn, id string, attempts int) {
	t.Helper()
	conn.Do(t, `update boards set attempts = $2 where board_id = $1`, id, attempts)
}

// Fifty events at once through two nodes, alone and in batches: as many are recorded as there
// are attempts.
func TestAttemptsAreExactInParallel(t *testing.T) {
	t.Parallel()
	one, conn := storetest.New(t)
	stores := []*store.Store{one, storetest.Open(t, conn.URL)}
	createBoard(t, conn, "sum", "increment", "highest", 1, 100)
	createBoard(t, conn, "high", "best", "highest", 0, 100)
	limitAttempts(t, conn, "sum", 7)
	limitAttempts(t, conn, "high", 5)
	var recorded, used [2]atomic.Int64
	var all sync.WaitGroup
	for n := range 50 {
		for k, board := range []scoreboard.BoardID{"sum", "high"} {
			all.Go(func() {
				batch := []scoreboard.Increment{increment("ada", 1, fmt.Sprint(n, board, "a"), board)}
				if n%2 == 0 {
					batch = append(batch, increment("bob", 1, fmt.Sprint(n, board), "global"),
						increment("ada", 2, fmt.Sprint(n, board, "b"), board))
				}
				for _, o := range recordUntilDone(t, stores[n/2%2], batch) {
					switch code := wire.CodeOf(o.Err); {
					case code == wire.CodeAttemptsUsed:
						used[k].Add(1)
					case code != "":
						t.Errorf("event %d on %s: %v", n, board, o.Err)
					case o.Receipts[0].User == "ada":
						recorded[k].Add(1)
					}
				}
			})
		}
	}
	all.Wait()
	for k, want := range []int64{7, 5} {
		if recorded[k].Load() != want || used[k].Load() != 75-want {
			t.Errorf("%d recorded and %d rejected, want %d and %d", recorded[k].Load(), used[k].Load(), want, 75-want)
		}
	}
	if n := conn.Count(t, `select count(*) from user_score_histories where user_id = 'ada'`); n != 12 {
		t.Errorf("%d rows, want 12", n)
	}
}

// Attempts that are set later count what was added before, and corrections are no attempts.
func TestAttemptsCountWhatWasRecordedBefore(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	record(t, s, increment("ada", 1, "e1"), increment("ada", 1, "e2"), increment("ada", 1, "e3"))
	limitAttempts(t, conn, "global", 3)
	submit := func(event string, want wire.Code) {
		t.Helper()
		if o := record(t, s, increment("ada", 1, event), increment("bob", 1, event)); wire.CodeOf(o[0].Err) != want ||
			o[1].Err != nil {
			t.Fatalf("%s: %+v, want code %q for ada", event, o, want)
		}
	}
	left := func(want int64) {
		t.Helper()
		if used, err := s.Reads.Attempts(t.Context(), "global", "ada"); err != nil || 3-used != want {
			t.Fatalf("%d attempts used, %v, want %d left", used, err, want)
		}
	}
	left(0)
	submit("e4", wire.CodeAttemptsUsed)
	why := &scoreboard.AuditEntry{Actor: "root", Action: "event.reverse", Target: "user:ada", Reason: "test"}
	if _, _, err := s.Corrections.Reverse(t.Context(), "ada", increment("ada", 1, "e2").Event,
		scoreboard.Reversing{}, why); err != nil {
		t.Fatal(err)
	}
	left(1)
	event := increment("ada", 5, "a1").Event
	if _, err := s.Corrections.Adjust(t.Context(), scoreboard.Adjustment{
		User: "ada", Board: "global", Delta: 5, Event: event,
	}, why); err != nil {
		t.Fatal(err)
	}
	left(1)
	submit("e4", "")
	left(0)
	submit("e2", "") // a repeat, reversed or not
	left(0)
	conn.Do(t, `update boards set attempts = 0 where board_id = 'global'`)
	record(t, s, increment("ada", 1, "e5"))
	limitAttempts(t, conn, "global", 5)
	submit("e6", "")
	if o := record(t, s, increment("ada", 1, "e7")); wire.CodeOf(o[0].Err) != wire.CodeAttemptsUsed {
		t.Fatalf("got %+v, want attempts_used", o)
	}
}

// Counting attempts reads no rows of the ledger, however many a user has.
func TestAttemptsReadNoLedger(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 1 })
	limitAttempts(t, conn, "global", scoreboard.MaxAttempts)
	items, repeats := grow(t, s, 20, 10_000, func(int) {})
	for range 100 {
		if _, err := s.Reads.Attempts(t.Context(), "global", "u1"); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	found := storetest.TableReads(t, conn)
	for table, limit := range map[string]int64{
		"users": 40 * items, "scores": 40 * items, "user_score_histories": 2 * repeats, "outbox_score_updates": 0,
	} {
		if got := found[table]; got.Scanned > 0 || got.Indexed > limit {
			t.Errorf("%s: %d rows by scans and %d by indexes for %d increments, want none and at most %d",
				table, got.Scanned, got.Indexed, items, limit)
		}
	}
}
