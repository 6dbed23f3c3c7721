package store_test

import (
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

func TestMain(m *testing.M) {
	backends.Main(m, goleak.IgnoreTopFunction("github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck"))
}

func increment(user scoreboard.UserID, delta int64, event string, boards ...scoreboard.BoardID) scoreboard.Increment {
	id, err := scoreboard.ParseEventID(user, event)
	if err != nil {
		panic(err)
	}
	if boards == nil {
		boards = []scoreboard.BoardID{scoreboard.GlobalBoard}
	}
	return scoreboard.Increment{
		User:   user,
		Delta:  delta,
		Event:  id,
		Boards: boards,
		Source: scoreboard.SourceAPI,
		Client: time.Now(),
		KeyID:  "k",
		Trace:  "t",
	}
}

func record(t testing.TB, s *store.Store, batch ...scoreboard.Increment) []scoreboard.Outcome {
	t.Helper()
	outcomes, err := s.Increments.Record(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	return outcomes
}

func createBoard(t testing.TB, conn *backends.Conn, id, mode, order string, minDelta, maxDelta int64) {
	t.Helper()
	conn.Do(t, `insert into boards (board_id, family_id, mode, sort_order, min_delta, max_delta)
values ($1, $1, $2, $3, $4, $5)`, id, mode, order, minDelta, maxDelta)
}

func TestBatchKeepsEachUsersOrder(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	got := record(
		t,
		s,
		increment("alice", 5, "e1"),
		increment("bob", 1, "e1"),
		increment("alice", 7, "e2"),
		increment("alice", 1, "e3"),
	)
	for i, want := range []struct {
		score, previous scoreboard.Score
		version         int64
	}{{5, 0, 1}, {1, 0, 1}, {12, 5, 2}, {13, 12, 3}} {
		r := got[i].Receipts[0]
		if got[i].Err != nil || r.NewScore != want.score || *r.Previous != want.previous || r.Version != want.version ||
			r.Replayed {
			t.Errorf("item %d: got %+v, want %+v", i, got[i], want)
		}
	}
	if n := conn.Count(t, `select count(*) from outbox_score_updates`); n != 4 {
		t.Errorf("outbox rows: got %d, want 4, one for each change", n)
	}
	if n := conn.Count(
		t,
		`select score from scores where user_id = 'alice' and board_id = 'global' and version = 3 and revision = 3`,
	); n != 13 {
		t.Errorf("alice has %d, want 13", n)
	}
}

func TestRepeatGetsTheOriginalReceipt(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	first := record(t, s, increment("alice", 5, "e1"))[0].Receipts[0]
	record(t, s, increment("alice", 7, "e2"))
	later := increment("alice", 5, "e1")
	// A retry has a new signature.
	later.KeyID, later.Client, later.Address = "another", time.Now().Add(time.Hour), "192.0.2.1"
	got := record(t, s, later, later)
	for i, o := range got {
		want := first
		want.Replayed = true
		if o.Err != nil || !sameReceipt(o.Receipts[0], want) {
			t.Errorf("repeat %d: got %+v, want %+v", i, o, want)
		}
	}
	in := record(t, s, increment("carol", 1, "e"), increment("carol", 1, "e"))
	if in[0].Receipts[0].Replayed || !in[1].Receipts[0].Replayed || in[1].Receipts[0].NewScore != 1 {
		t.Errorf("a repeat in the same batch: got %+v", in)
	}
	if n := conn.Count(t, `select count(*) from user_score_histories`); n != 3 {
		t.Errorf("ledger rows: got %d, want 3", n)
	}
}

func sameReceipt(a, b scoreboard.Receipt) bool {
	return a.User == b.User && a.Board == b.Board && a.Event == b.Event && a.NewScore == b.NewScore &&
		*a.Previous == *b.Previous &&
		a.Applied == b.Applied && a.Version == b.Version && a.RecordedAt.Equal(b.RecordedAt) &&
		a.Replayed == b.Replayed
}

func TestEventWithAnotherPayloadIsAConflict(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	createBoard(t, conn, "other", "increment", "highest", 1, 100)
	record(t, s, increment("alice", 5, "e1"))
	withAction := increment("alice", 5, "e1")
	withAction.Action = "kill"
	got := record(
		t,
		s,
		increment("alice", 6, "e1"),
		increment("alice", 5, "e1", "other"),
		increment("alice", 5, "e1", "global", "other"),
		withAction,
		increment("alice", 9, "new"),
		increment("alice", 8, "new"),
	)
	for i, want := range []wire.Code{
		wire.CodeEventConflict, wire.CodeEventConflict,
		wire.CodeEventConflict, wire.CodeEventConflict,
		"", wire.CodeEventConflict,
	} {
		if code := wire.CodeOf(got[i].Err); code != want {
			t.Errorf("item %d: got %q, want %q", i, code, want)
		}
	}
	if n := conn.Count(t, `select score from scores where user_id = 'alice' and board_id = 'global'`); n != 14 {
		t.Errorf("alice has %d, want 14", n)
	}
}

func TestFiftyConcurrentRepeatsCountOnce(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 20; o.LockWait = 5 * time.Second })
	createBoard(t, conn, "other", "increment", "highest", 1, 100)
	var all sync.WaitGroup
	outcomes := make([]scoreboard.Outcome, 50)
	for i := range outcomes {
		all.Go(func() {
			board := scoreboard.GlobalBoard
			if i%2 == 1 {
				board = "other" // the same event on another board conflicts
			}
			got, err := s.Increments.Record(t.Context(), []scoreboard.Increment{increment("alice", 5, "e1", board)})
			if err != nil {
				t.Error(err)
				return
			}
			outcomes[i] = got[0]
		})
	}
	all.Wait()
	fresh := 0
	for _, o := range outcomes {
		if o.Err == nil && !o.Receipts[0].Replayed {
			fresh++
		}
		if code := wire.CodeOf(o.Err); code != "" && code != wire.CodeEventConflict {
			t.Errorf("got %v", o.Err)
		}
	}
	if fresh != 1 {
		t.Errorf("counted %d times, want 1", fresh)
	}
	if n := conn.Count(t, `select sum(score)::bigint from scores`); n != 5 {
		t.Errorf("the scores add up to %d, want 5", n)
	}
}

func TestSeveralBoardsAreAllOrNothing(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	createBoard(t, conn, "small", "increment", "highest", 1, 10)
	createBoard(t, conn, "speed", "best", "lowest", 0, 1000)
	createBoard(t, conn, "frozen", "increment", "highest", 1, 10)
	conn.Do(t, `update boards set status = 'frozen' where board_id = 'frozen'`)
	got := record(t, s,
		increment("alice", 5, "e1", "global", "small"), increment("alice", 50, "e2", "global", "small"),
		increment("alice", 5, "e3", "global", "frozen"), increment("alice", 5, "e4", "global", "nowhere"),
		increment("alice", 5, "e5", "global", "speed"))
	for i, want := range []wire.Code{
		"", wire.CodeDeltaOutOfRange, wire.CodeBoardClosed,
		wire.CodeNotFound, wire.CodeRuleViolated,
	} {
		if code := wire.CodeOf(got[i].Err); code != want {
			t.Errorf("item %d: got %q, want %q", i, code, want)
		}
	}
	if len(got[0].Receipts) != 2 || got[0].Receipts[1].Board != "small" {
		t.Errorf("receipts: got %+v, want global and small", got[0].Receipts)
	}
	if n := conn.Count(t, `select count(*) from user_score_histories`); n != 2 {
		t.Errorf("ledger rows: got %d, want 2", n)
	}
}

func TestUserTimeNeverGoesBack(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	record(t, s, increment("alice", 5, "e1"))
	// As after a clock that was ahead has been corrected.
	conn.Do(t, `update users set last_recorded_at = clock_timestamp() + interval '1 hour'`)
	ahead := record(t, s, increment("alice", 5, "e2"))[0].Receipts[0].RecordedAt
	next := record(t, s, increment("alice", 5, "e3"))[0].Receipts[0].RecordedAt
	if ahead.Before(time.Now().Add(50*time.Minute)) || next.Before(ahead) {
		t.Errorf("got %s, then %s", ahead, next)
	}
}

// A repeat is recognised across the boundary of two partitions, and an event is
// never in both.
func TestRepeatAcrossPartitionBoundary(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	first := record(t, s, increment("alice", 5, "e1"))[0].Receipts[0]
	// The clock moves to the next month: the user's rows go into the next partition.
	conn.Do(t, `update users set last_recorded_at = clock_timestamp() + interval '1 month'`)
	again := record(t, s, increment("alice", 5, "e1"), increment("alice", 6, "e1"), increment("alice", 1, "e2"))
	if again[0].Err != nil || !again[0].Receipts[0].Replayed ||
		!again[0].Receipts[0].RecordedAt.Equal(first.RecordedAt) {
		t.Errorf("repeat: got %+v", again[0])
	}
	if code := wire.CodeOf(again[1].Err); code != wire.CodeEventConflict {
		t.Errorf("conflict: got %q", code)
	}
	if n := conn.Count(t, `select count(distinct tableoid) from user_score_histories`); n != 2 {
		t.Errorf("the rows are in %d partitions, want 2: the test is vacuous", n)
	}
	// And back: a clock that was ahead does not hide what was recorded.
	back := record(t, s, increment("alice", 1, "e2"))[0]
	if back.Err != nil || !back.Receipts[0].Replayed {
		t.Errorf("got %+v, want a repeat", back)
	}
}
