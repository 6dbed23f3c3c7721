package store_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// hold opens a transaction that has executed sql; release ends it.
func hold(t testing.TB, conn *backends.Conn, sql string, args ...any) (release func()) {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

const lockUser = `select from users where user_id = $1 for update`

func TestLockedUserDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	record(t, s, increment("alice", 5, "e1"), increment("zoe", 5, "e1"))
	release := hold(t, conn, `select from users where user_id in ('alice', 'zoe') for update`)
	batch := []scoreboard.Increment{
		increment(
			"alice",
			1,
			"e2",
		),
		increment("bob", 2, "e1"),
		increment("alice", 1, "e3"),
		increment("carol", 2, "e1"),
		increment("zoe", 1, "e2"),
	}
	started := time.Now()
	got := record(t, s, batch...)
	if took := time.Since(started); took > time.Second {
		t.Errorf("took %s, want little more than one wait of 100 ms", took)
	}
	for i, locked := range []bool{true, false, true, false, true} {
		if is := errors.Is(got[i].Err, scoreboard.ErrUserLocked); is != locked {
			t.Errorf("item %d: got %+v, want locked %t", i, got[i], locked)
		}
		if locked && wire.CodeOf(got[i].Err) != wire.CodeUnavailable {
			t.Errorf("item %d: got %v, want unavailable", i, got[i].Err)
		}
	}
	if n := conn.Count(t, `select count(*) from user_score_histories`); n != 4 {
		t.Errorf("%d ledger rows, want 4: none of locked users", n)
	}
	release()
	for i, o := range record(t, s, batch...) {
		if o.Err != nil || o.Receipts[0].Replayed != (i == 1 || i == 3) {
			t.Errorf("retry, item %d: got %+v", i, o)
		}
	}
}

func TestBatchOfLockedUsersOnly(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	record(t, s, increment("alice", 5, "e1"))
	release := hold(t, conn, lockUser, "alice")
	defer release()
	if o := record(t, s, increment("alice", 5, "e2"))[0]; !errors.Is(o.Err, scoreboard.ErrUserLocked) {
		t.Errorf("got %+v, want locked", o)
	}
}

// Another transaction is creating the user, so its row is not visible yet.
func TestUserBeingCreatedDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	record(t, s, increment("bob", 1, "e1"))
	release := hold(t, conn, `insert into users (user_id) values ('alice')`)
	got := record(t, s, increment("alice", 1, "e1"), increment("bob", 2, "e2"))
	if !errors.Is(got[0].Err, scoreboard.ErrUserLocked) || got[1].Err != nil {
		t.Errorf("got %+v, want alice locked and bob recorded", got)
	}
	release()
	if o := record(t, s, increment("alice", 1, "e1"))[0]; o.Err != nil || o.Receipts[0].Replayed {
		t.Errorf("got %+v", o)
	}
}

// Waiting for a board that is being frozen does not count as a locked user.
func TestRecordWaitsForLockedBoard(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	record(t, s, increment("alice", 1, "e1"))
	release := hold(t, conn, `select pg_advisory_xact_lock(hashtextextended('global', 0))`)
	var freed sync.WaitGroup
	freed.Go(func() {
		time.Sleep(150 * time.Millisecond)
		release()
	})
	if o := record(t, s, increment("alice", 1, "e2"))[0]; o.Err != nil {
		t.Errorf("got %v", o.Err)
	}
	freed.Wait()
	release = hold(t, conn, `select pg_advisory_xact_lock(hashtextextended('global', 0))`)
	defer release()
	started := time.Now()
	_, err := s.Increments.Record(t.Context(), []scoreboard.Increment{increment("alice", 1, "e3")})
	if wire.CodeOf(err) != wire.CodeUnavailable || errors.Is(err, scoreboard.ErrUserLocked) {
		t.Errorf("got %v, want unavailable", err)
	}
	if took := time.Since(started); took > 2*time.Second {
		t.Errorf("took %s", took)
	}
}

// COMMIT is delayed for longer than the lock wait: once the old backend has ended,
// the retry finds out whether the batch was written.
func TestLateCommit(t *testing.T) {
	t.Parallel()
	s, conn, p := behindProxy(t, func(o *store.Options) { o.LockWait = 50 * time.Millisecond })
	record(t, s, increment("warm", 1, "e"))
	injected := false
	p.watch(func(m message) effect {
		if injected || m.answer || !m.commit {
			return effect{}
		}
		injected = true
		awaitStatements(t, conn, m.backend)
		return effect{late: time.After(500 * time.Millisecond)}
	})
	batch := []scoreboard.Increment{increment("alice", 5, "e1"), increment("warm", 1, "e2")}
	got := record(t, s, batch...)
	p.watch(nil)
	for i, o := range got {
		if !errors.Is(o.Err, scoreboard.ErrUserLocked) {
			t.Errorf("item %d: got %+v, want locked during the commit", i, o)
		}
	}
	for range 100 {
		if got = record(t, s, batch...); got[0].Err == nil && got[1].Err == nil {
			break
		}
	}
	if got[0].Err != nil || !got[0].Receipts[0].Replayed || got[1].Err != nil || !got[1].Receipts[0].Replayed {
		t.Errorf("got %+v, want what the late COMMIT wrote", got)
	}
	if n := conn.Count(t, `select count(*) from user_score_histories`); n != 3 {
		t.Errorf("%d ledger rows, want 3", n)
	}
}
