package history_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

func submit(t testing.TB, s *store.Store, user scoreboard.UserID, delta int64, board scoreboard.BoardID) {
	t.Helper()
	outcomes, err := s.Increments.Record(t.Context(), []scoreboard.Increment{{
		User: user, Boards: []scoreboard.BoardID{board}, Delta: delta, Source: scoreboard.SourceAPI,
		Event: scoreboard.NewEventID(),
	}})
	if err == nil {
		err = outcomes[0].Err
	}
	if err != nil {
		t.Error(err)
	}
}

var global = scoreboard.Board{
	ID: scoreboard.GlobalBoard, Family: scoreboard.GlobalBoard, Mode: scoreboard.ModeIncrement,
	Order: scoreboard.OrderHighest, Created: time.Now(),
}

func topLines(t testing.TB, s *store.Store, at scoreboard.PastTime) ([]string, error) {
	t.Helper()
	top, err := s.PastBoards.Top(t.Context(), &global, at, nil, scoreboard.TopSize)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, e := range top.Entries {
		lines = append(lines, lineOf(e.User, e.Score, e.Subscore))
	}
	return lines, nil
}

// While a transaction holds the lock of the board, nothing from its start on is settled: it
// could record something earlier than now. Other boards, and earlier moments, are settled.
func TestMomentIsNotSettledBeforeCommit(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	submit(t, s, "ada", 5, "global")
	before := now(t, s)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(),
		`select pg_advisory_xact_lock_shared(hashtextextended('global', 0))`); err != nil {
		t.Fatal(err)
	}
	at := now(t, s)
	_, err = topLines(t, s, scoreboard.PastTime{At: at})
	var e *scoreboard.Error
	if !errors.As(err, &e) || e.Code != wire.CodeNotSettled || e.RetryAfter <= 0 {
		t.Errorf("got %v, want not_settled with a time to retry", err)
	}
	got, err := topLines(t, s, scoreboard.PastTime{At: before})
	if err != nil || !slices.Equal(got, []string{"ada 5"}) {
		t.Errorf("before the transaction: got %v, %v", got, err)
	}
	other := global
	other.ID, other.Family = "other", "other"
	if _, err := s.PastBoards.Top(t.Context(), &other, scoreboard.PastTime{At: at}, nil, 1); err != nil {
		t.Errorf("another board: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := topLines(t, s, scoreboard.PastTime{At: at}); err != nil {
		t.Errorf("after the transaction: %v", err)
	}
}

// A moment that was answered is answered alike later, whatever concurrent writers of two nodes
// commit, and as what the ledger then says.
func TestMomentsAmongConcurrentWriters(t *testing.T) {
	t.Parallel()
	patient := func(o *store.Options) { o.LockWait = o.Timeout } // four writers, on a busy machine
	s, conn := storetest.New(t, patient)
	other := storetest.Open(t, conn.Config().ConnString(), patient)
	s.PastBoards.SetBlockUsers(5)
	ctx, stop := context.WithTimeout(t.Context(), 4*time.Second)
	defer stop()
	var writers sync.WaitGroup
	for n, node := range []*store.Store{s, other, s, other} {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				submit(t, node, scoreboard.UserID(fmt.Sprintf("u%02d", (i*7+n)%40)), int64(1+i%3), "global")
			}
		})
	}
	writers.Go(func() {
		for ctx.Err() == nil {
			checkpoint(t, s)
			time.Sleep(50 * time.Millisecond)
		}
	})
	type answer struct {
		at    time.Time
		lines []string
	}
	var answers []answer
	refused := 0
	for ctx.Err() == nil {
		at := now(t, other)
		lines, err := topLines(t, other, scoreboard.PastTime{At: at})
		switch {
		case wire.CodeOf(err) == wire.CodeNotSettled:
			refused++
		case err != nil:
			t.Fatal(err)
		default:
			answers = append(answers, answer{at, lines})
		}
		time.Sleep(time.Millisecond)
	}
	writers.Wait()
	t.Logf("%d answers, %d not settled", len(answers), refused)
	if len(answers) < 10 {
		t.Fatalf("only %d moments were settled", len(answers))
	}
	for _, a := range answers[:min(len(answers), 200)] {
		rows, err := conn.Query(t.Context(), `select user_id || ' ' || new_score from (
    select distinct on (user_id) user_id, new_score, recorded_at from user_score_histories
    where board_id = 'global' and recorded_at <= $1 order by user_id, version desc) as last
order by new_score desc, recorded_at, user_id`, a.at)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			want = append(want, line)
		}
		again, err := topLines(t, s, scoreboard.PastTime{At: a.at})
		if err != nil || !slices.Equal(a.lines, want) || !slices.Equal(again, want) {
			t.Fatalf("at %v:\nthen %v\n now %v, %v\nwant %v", a.at, a.lines, again, err, want)
		}
	}
}

// A checkpoint whose writer dies at any transaction is never read, and deleted later.
func TestCheckpointWriterKilled(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	s.PastBoards.SetBlockUsers(2)
	for i := range 9 {
		submit(t, s, scoreboard.UserID(fmt.Sprintf("u%d", i)), int64(i+1), "global")
	}
	at := now(t, s)
	want, err := topLines(t, s, scoreboard.PastTime{At: at})
	if err != nil || len(want) != 9 {
		t.Fatal(want, err)
	}
	killed := errors.New("killed")
	for dies := 1; ; dies++ {
		_, moment, err := s.PastBoards.Count(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		steps := 0
		_, err = s.PastBoards.Make(t.Context(), "global", moment, func(context.Context) error {
			if steps++; steps == dies {
				return killed
			}
			return nil
		})
		if err != nil && !errors.Is(err, killed) {
			t.Fatal(err)
		}
		// The moment is after the checkpoint.
		if got, err := topLines(t, s, scoreboard.PastTime{At: now(t, s)}); err != nil || !slices.Equal(got, want) {
			t.Fatalf("killed at step %d: got %v, %v, want %v", dies, got, err, want)
		}
		if dies > steps {
			break // it was not killed
		}
	}
	if n := conn.Count(t, `select count(*) from checkpoints where not complete`); n == 0 {
		t.Error("no writer left a checkpoint behind")
	}
	if _, err := s.PastBoards.DeleteOld(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if n := conn.Count(t, `select count(*) from checkpoints`); n != 1 {
		t.Errorf("%d checkpoints are left, want the complete one", n)
	}
}

// An erased user is on no board of the past, before, during and after the move of the ledger,
// and no table that the board at a moment is read from has the name.
func TestErasedUserLeavesNoTrace(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	s.PastBoards.SetBlockUsers(2)
	for round := range 3 {
		for i := range 6 {
			submit(t, s, scoreboard.UserID(fmt.Sprintf("user-%d", i)), int64(i+1), "global")
		}
		if round == 1 {
			checkpoint(t, s)
		}
	}
	for _, change := range []func(context.Context, scoreboard.UserID, *scoreboard.AuditEntry) (
		*scoreboard.UserState, error,
	){s.Moderation.Ban, s.Moderation.Unban} {
		if _, err := change(t.Context(), "user-3", because("user.ban")); err != nil {
			t.Fatal(err)
		}
	}
	at := now(t, s)
	want := []string{"user-5 18", "user-4 15", "user-2 9", "user-1 6", "user-0 3"}
	check := func(when string) {
		t.Helper()
		for _, m := range []scoreboard.PastTime{{At: at}, {At: at, Now: true}} {
			if got, err := topLines(t, s, m); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: got %v, %v, want %v", when, got, err, want)
			}
			place, err := s.PastBoards.Place(t.Context(), &global, m, "user-2", 0)
			if err != nil || place.Rank != 3 || place.Total != 5 {
				t.Errorf("%s: user-2 is %+v, %v, want 3 of 5", when, place, err)
			}
		}
	}
	anonymous, err := s.Privacy.BeginErasure(t.Context(), "user-3", because("user.erase"))
	if err != nil {
		t.Fatal(err)
	}
	check("before the rows move")
	checkpoint(t, s)
	for rows := int64(1); rows > 0; {
		if rows, err = s.Privacy.EraseStep(t.Context(), "user-3", anonymous); err != nil {
			t.Fatal(err)
		}
	}
	check("after the rows moved")
	submit(t, s, "user-0", 1, "global")
	checkpoint(t, s)
	check("after another checkpoint")
	for _, table := range []string{"checkpoint_users", "user_statuses", "corrected_standings", "user_score_histories"} {
		if n := conn.Count(t, `select count(*) from `+table+` where user_id = 'user-3'`); n != 0 {
			t.Errorf("%s has %d rows of the erased user", table, n)
		}
	}
	if n := conn.Count(t, `select count(*) from checkpoint_users where user_id = $1`, anonymous); n != 1 {
		t.Errorf("checkpoint_users has the anonymous name %d times, want once", n)
	}
}

// What is not in the database any more is a gone, not a wrong answer.
func TestMomentBeyondWhatIsKept(t *testing.T) {
	t.Parallel()
	s, _ := storetest.New(t)
	for range 4 {
		submit(t, s, "ada", 1, "global")
	}
	at := now(t, s)
	s.PastBoards.SetMaxEvents(3)
	if _, err := topLines(t, s, scoreboard.PastTime{At: at}); wire.CodeOf(err) != wire.CodeGone {
		t.Errorf("4 events without a checkpoint: got %v, want gone", err)
	}
	old := global
	old.Created = time.Now().Add(-365 * 24 * time.Hour) // before the first partition
	s.PastBoards.SetMaxEvents(10)
	_, err := s.PastBoards.Top(t.Context(), &old, scoreboard.PastTime{At: at}, nil, 1)
	if wire.CodeOf(err) != wire.CodeGone {
		t.Errorf("an older board: got %v, want gone", err)
	}
	checkpoint(t, s)
	top, err := s.PastBoards.Top(t.Context(), &old, scoreboard.PastTime{At: now(t, s)}, nil, 1)
	if err != nil || top.Total != 1 {
		t.Errorf("after a checkpoint: got %+v, %v", top, err)
	}
}

// A checkpoint made after a correction, of a user who scored again meanwhile, has the time at
// which the restored score was first reached, which decides a tie.
func TestCheckpointOfCorrectedStanding(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	submit(t, w.s, "alice", 5, "high")
	submit(t, w.s, "bob", 5, "high")
	in := scoreboard.Increment{
		User: "alice", Boards: []scoreboard.BoardID{"high"}, Delta: 9, Source: scoreboard.SourceAPI,
		Event: scoreboard.NewEventID(),
	}
	if _, err := w.s.Increments.Record(t.Context(), []scoreboard.Increment{in}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.s.Corrections.Reverse(t.Context(), in.User, in.Event, scoreboard.Reversing{},
		because("event.reverse")); err != nil {
		t.Fatal(err)
	}
	_, at, err := w.s.PastBoards.Count(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	submit(t, w.s, "alice", 7, "high")
	if _, err := w.s.PastBoards.Make(t.Context(), "high", at, func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	w.check("high", scoreboard.PastTime{At: at}, []string{"alice 5", "bob 5"})
}
