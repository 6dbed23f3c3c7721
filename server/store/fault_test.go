package store_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// behindProxy opens a store whose connections all pass through a proxy, and a
// direct connection for the test.
func behindProxy(t testing.TB, edit ...func(*store.Options)) (*store.Store, *backends.Conn, *proxy) {
	t.Helper()
	var p *proxy
	s, conn := storetest.New(t, append(edit, func(o *store.Options) {
		p = newProxy(t, o.URL)
		o.URL = p.url
	})...)
	return s, conn, p
}

// ways are how a batch is recorded: by one function, or by statements because an item
// needs a decision.
var ways = []string{"added", "decided"}

// faultBatch is the batch that faults interrupt: two items of alice, one of bob, a
// repeat and, to be decided, an invalid one.
func faultBatch(run, way string) []scoreboard.Increment {
	alice, bob := scoreboard.UserID("alice-"+run), scoreboard.UserID("bob-"+run)
	batch := []scoreboard.Increment{
		increment(alice, 5, "e1"), increment(alice, 7, "e2"), increment(bob, 3, "e1"), increment(alice, 5, "e1"),
	}
	if way == "decided" {
		batch = append(batch, increment(bob, 0, "bad"))
	}
	return batch
}

// checkFaultBatch checks that a faultBatch was recorded exactly once and that its
// outcomes say so.
func checkFaultBatch(t *testing.T, conn *backends.Conn, run string, got []scoreboard.Outcome) {
	t.Helper()
	for i, want := range []struct {
		score   scoreboard.Score
		version int64
		code    wire.Code
	}{{5, 1, ""}, {12, 2, ""}, {3, 1, ""}, {5, 1, ""}, {0, 0, wire.CodeInvalidRequest}}[:len(got)] {
		if code := wire.CodeOf(got[i].Err); code != want.code {
			t.Errorf("%s, item %d: got %v, want %q", run, i, got[i].Err, want.code)
			continue
		}
		if want.code == "" &&
			(len(got[i].Receipts) != 1 || got[i].Receipts[0].NewScore != want.score ||
				got[i].Receipts[0].Version != want.version) {
			t.Errorf(
				"%s, item %d: got %+v, want score %d, version %d",
				run,
				i,
				got[i].Receipts,
				want.score,
				want.version,
			)
		}
	}
	const state = `select coalesce(string_agg(format('%s %s %s %s', split_part(user_id, '-', 1), version, new_score,
applied), ', ' order by user_id, version), '')
from user_score_histories where user_id = any($1)`
	users := []string{"alice-" + run, "bob-" + run}
	var ledger string
	if err := conn.QueryRow(t.Context(), state, users).Scan(&ledger); err != nil {
		t.Fatal(err)
	}
	if want := "alice 1 5 5, alice 2 12 7, bob 1 3 3"; ledger != want {
		t.Errorf("%s: the ledger is %s, want %s", run, ledger, want)
	}
	if n := conn.Count(t, `select count(*) from outbox_score_updates where user_id = any($1)`, users); n != 3 {
		t.Errorf("%s: %d outbox rows, want 3", run, n)
	}
	if n := conn.Count(
		t,
		`select coalesce(sum(score), 0)::bigint from scores where user_id = any($1)`,
		users,
	); n != 15 {
		t.Errorf("%s: the scores add up to %d, want 15", run, n)
	}
}

// Injects a fault at the nth message of a batch, for every n: on a connection with
// prepared statements and on a new one.
func TestConnectionLostAtEveryStatement(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct {
		name   string
		inject func(t *testing.T, conn *backends.Conn, m message) effect
		answer bool
	}{
		{"cut on the way to the server", cut, false},
		{"cut on the way back", cut, true},
		{"backend terminated", terminate, false},
	} {
		for kind := range 4 {
			warm, way := kind%2 == 0, ways[kind/2]
			t.Run(fmt.Sprintf("%s, prepared %t, %s", fault.name, warm, way), func(t *testing.T) {
				t.Parallel()
				s, conn, p := behindProxy(t, func(o *store.Options) { o.MaxConns = 1 })
				injected := 0
				for n := 1; ; n++ {
					run := fmt.Sprint(n)
					if !warm {
						s.Close()
						s = storetest.Open(t, p.url, func(o *store.Options) { o.MaxConns = 1 })
					} else {
						record(t, s, increment("warm", 1, run))
					}
					hit := ""
					seen := 0
					p.watch(func(m message) effect {
						if m.answer != fault.answer || hit != "" {
							return effect{}
						}
						if seen++; seen < n {
							return effect{}
						}
						hit = fmt.Sprintf("%c %.30s", m.kind, m.statement)
						return fault.inject(t, conn, m)
					})
					outcomes, err := s.Increments.Record(t.Context(), faultBatch(run, way))
					p.watch(nil)
					if err != nil {
						t.Fatalf("fault at message %d (%s): %v", n, hit, err)
					}
					checkFaultBatch(t, conn, run, outcomes)
					if t.Failed() {
						t.Fatalf("fault at message %d (%s)", n, hit)
					}
					if hit == "" {
						break
					}
					injected++
				}
				t.Logf("faults at %d messages", injected)
				if want := map[string]int{"added": 5, "decided": 9}[way]; injected < want {
					t.Errorf("only %d faults, want %d at least", injected, want)
				}
			})
		}
	}
}

// cut cuts the connection.
func cut(*testing.T, *backends.Conn, message) effect { return effect{cut: true} }

// terminate ends the backend of the connection, as an operator would.
func terminate(t *testing.T, conn *backends.Conn, m message) effect {
	if m.backend != 0 {
		if _, err := conn.Exec(t.Context(), `select pg_terminate_backend($1)`, int32(m.backend)); err != nil {
			t.Error(err)
		}
	}
	return effect{}
}

// After a connection is lost during COMMIT, Record finds out whether the
// transaction was committed: the batch counts once, and is a repeat only if it was.
func TestConnectionLostDuringCommit(t *testing.T) {
	t.Parallel()
	isCommit := func(m message) bool { return !m.answer && m.commit }
	for _, world := range []struct {
		name      string
		onMessage func(t *testing.T, conn *backends.Conn, m message) effect
		replayed  bool
	}{
		{"executed", func(_ *testing.T, _ *backends.Conn, m message) effect {
			return effect{cut: m.answer && m.commit}
		}, true},
		{"not executed", func(_ *testing.T, _ *backends.Conn, m message) effect {
			return effect{cut: isCommit(m)}
		}, false},
		{"executed while the batch runs again", func(t *testing.T, conn *backends.Conn, m message) effect {
			if !isCommit(m) {
				return effect{}
			}
			awaitStatements(t, conn, m.backend)
			return effect{late: time.After(50 * time.Millisecond)}
		}, true},
	} {
		for _, way := range ways {
			t.Run(world.name+", "+way, func(t *testing.T) {
				t.Parallel()
				s, conn, p := behindProxy(t)
				got := loseCommit(t, s, p, way, func(m message) effect { return world.onMessage(t, conn, m) })
				checkLostCommit(t, s, conn, way, got, world.replayed)
			})
		}
	}
	// Only a batch that is added: before a COMMIT, all statements have been answered.
	t.Run("executed after the batch ran again, added", func(t *testing.T) {
		t.Parallel()
		s, conn, p := behindProxy(t)
		var backend uint32
		ranAgain := make(chan time.Time)
		release := sync.OnceFunc(func() { close(ranAgain) })
		defer release()
		got := loseCommit(t, s, p, "added", func(m message) effect {
			if m.answer || m.kind != 'E' || !strings.Contains(m.statement, "add_increments") {
				return effect{}
			}
			backend = m.backend
			return effect{late: ranAgain}
		})
		release()
		awaitActivity(t, conn, `not exists (select from pg_stat_activity where pid = $1)`, backend)
		checkLostCommit(t, s, conn, "added", got, false)
	})
}

// awaitStatements waits until a backend has run what it was sent, in a transaction that waits
// for the COMMIT.
func awaitStatements(t *testing.T, conn *backends.Conn, backend uint32) {
	t.Helper()
	awaitActivity(t, conn, `exists (select from pg_stat_activity
where pid = $1 and backend_xid is not null and wait_event = 'ClientRead')`, backend)
}

func awaitActivity(t *testing.T, conn *backends.Conn, condition string, backend uint32) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for met := false; !met; time.Sleep(2 * time.Millisecond) {
		if err := conn.QueryRow(t.Context(), `select `+condition, int32(backend)).Scan(&met); err != nil {
			t.Error(err)
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("backend %d is not in this state: %s", backend, condition)
			return
		}
	}
}

// loseCommit records a faultBatch whose first effect is the one fault.
func loseCommit(
	t *testing.T, s *store.Store, p *proxy, way string, onMessage func(m message) effect,
) []scoreboard.Outcome {
	t.Helper()
	record(t, s, increment("warm", 1, "e"), increment("warm", 0, "bad"))
	injected := false
	p.watch(func(m message) effect {
		if injected {
			return effect{}
		}
		v := onMessage(m)
		injected = v != effect{}
		return v
	})
	got := record(t, s, faultBatch("x", way)...)
	p.watch(nil)
	if !injected {
		t.Fatal("no commit was sent")
	}
	return got
}

func checkLostCommit(
	t *testing.T, s *store.Store, conn *backends.Conn, way string, got []scoreboard.Outcome, replayed bool,
) {
	t.Helper()
	checkFaultBatch(t, conn, "x", got)
	if is := got[0].Receipts[0].Replayed; is != replayed {
		t.Errorf("replayed: got %t, want %t", is, replayed)
	}
	for i, o := range record(t, s, faultBatch("x", way)[:3]...) {
		if want := got[i].Receipts[0]; !o.Receipts[0].Replayed ||
			!o.Receipts[0].RecordedAt.Equal(want.RecordedAt) ||
			o.Receipts[0].NewScore != want.NewScore {
			t.Errorf("item %d, repeated: got %+v, want %+v", i, o.Receipts[0], want)
		}
	}
}

// The month ends between a lost COMMIT and its retry, and again between two
// retries of the client: the event stays in its partition and counts once.
func TestPartitionBoundaryDuringRetries(t *testing.T) {
	t.Parallel()
	s, conn, p := behindProxy(t)
	record(t, s, increment("alice", 1, "before"))
	crossings := 0
	p.watch(func(m message) effect {
		if !m.answer || !m.commit || crossings == 2 {
			return effect{}
		}
		// A user's time never goes back, so this is as if the clock had moved.
		crossings++
		if _, err := conn.Exec(
			t.Context(),
			`update users set last_recorded_at = last_recorded_at + interval '1 month'`,
		); err != nil {
			t.Error(err)
		}
		return effect{cut: crossings == 1}
	})
	batch := []scoreboard.Increment{increment("alice", 5, "e1"), increment("alice", 7, "e2")}
	first := record(t, s, batch...) // crosses after the lost COMMIT, and again after the answered one
	next := record(t, s, append(batch, increment("alice", 9, "e1"), increment("alice", 2, "after"))...)
	p.watch(nil)
	if crossings != 2 {
		t.Fatalf("the boundary was crossed %d times, want 2", crossings)
	}
	for i := range batch {
		if next[i].Err != nil || !next[i].Receipts[0].RecordedAt.Equal(first[i].Receipts[0].RecordedAt) ||
			next[i].Receipts[0].Version != int64(i+2) {
			t.Errorf("item %d: got %+v, then %+v", i, first[i], next[i])
		}
	}
	if code := wire.CodeOf(next[2].Err); code != wire.CodeEventConflict {
		t.Errorf("another payload: got %q, want a conflict", code)
	}
	if n := conn.Count(t, `select count(*) from user_score_histories`); n != 4 {
		t.Errorf("%d ledger rows, want 4", n)
	}
	if n := conn.Count(t, `select count(distinct tableoid) from user_score_histories`); n != 2 {
		t.Errorf("the rows are in %d partitions, want 2: the test is vacuous", n)
	}
	if n := conn.Count(t, `select score from scores`); n != 15 {
		t.Errorf("the score is %d, want 15", n)
	}
}
