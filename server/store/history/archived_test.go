package history_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep"
	"github.com/scoreboard/scoreboard/server/upkeep/archive"
)

// age is how long ago the archived part of a world's history is.
const age = 180 * 24 * time.Hour

// archive moves all that has happened into the past, and the ledger into an archive.
func (w *world) archive() *archive.Archive {
	w.t.Helper()
	y, month, _ := time.Now().UTC().Add(-age).Date()
	for i := range time.Month(3) {
		from := time.Date(y, month-1+i, 1, 0, 0, 0, 0, time.UTC)
		w.conn.Do(w.t, `select create_ledger_partition($1, $2)`, from, from.AddDate(0, 1, 0))
	}
	for _, columns := range []string{
		"user_score_histories.recorded_at", "scores.recorded_at", "scores.reached_at", "corrected_standings.at",
		"corrected_standings.reached_at", "user_statuses.at", "private_users.since", "private_users.until",
		"users.created_at", "users.last_recorded_at", "boards.created_at", "checkpoints.at",
	} {
		table, column, _ := strings.Cut(columns, ".")
		sql := fmt.Sprintf(`update %s set %[2]s = %[2]s - $1::interval where isfinite(%[2]s)`, table, column)
		w.conn.Do(w.t, sql, age)
	}
	for _, e := range w.events {
		e.at, e.archived = e.at.Add(-age), true
	}
	for i := range w.shown {
		w.shown[i].at = w.shown[i].at.Add(-age)
	}
	w.voids = nil
	// Nothing is due: the checkpoints have all that happened, or the archive.
	w.conn.Do(w.t, `update checkpoint_boards set since = since - $1::interval where isfinite(since)`, age)
	storage, err := archive.OpenStorage(w.t.TempDir())
	if err != nil {
		w.t.Fatal(err)
	}
	a := archive.New(archive.Options{Storage: storage, Keep: 90 * 24 * time.Hour}, w.s.Archive,
		upkeep.NewRunner("test", w.s.Leases, slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler), time.Now)
	done, err := a.ArchiveOld(w.t.Context())
	if err != nil || len(done) != 3 {
		w.t.Fatalf("archived %+v, %v, want three partitions", done, err)
	}
	return a
}

// makeArchived makes a checkpoint of a moment from the archive.
func (w *world) makeArchived(a *archive.Archive, board scoreboard.BoardID, at time.Time) error {
	b := w.board(board)
	made, err := w.s.PastBoards.MakeArchived(w.t.Context(), b, at, func(
		ctx context.Context, do func(*scoreboard.ArchivedRow) error,
	) error {
		return a.Rows(ctx, b.ID, b.Created, at, do)
	}, func(int64) {})
	if err == nil && (made.Board != board || !made.At.Equal(at) || time.Until(made.KeptUntil) < 6*24*time.Hour) {
		w.t.Errorf("made %+v, want board %s at %v for a week", made, board, at)
	}
	return err
}

// top reads the first rows of a board at a moment, or why it cannot be read.
func (w *world) top(board scoreboard.BoardID, at scoreboard.PastTime) error {
	_, err := w.s.PastBoards.Top(w.t.Context(), w.board(board), at, nil, 1)
	return err
}

// A moment that is archived is what was shown then, as any other, whatever was imported, voided,
// restored, hidden, ended or erased before the ledger was archived or after it.
func TestArchivedMomentsAreWhatWasShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 220 {
		if i == 150 {
			w.erase()
		}
		w.step()
	}
	a := w.archive()
	w.erase()
	archived := len(w.shown)
	for range 60 {
		w.step()
	}
	made := 0
	for i := range 60 {
		s := w.shown[w.rng.IntN(archived)]
		if i%4 == 0 { // in the database, after events that are not
			s = w.shown[w.rng.IntN(len(w.shown))]
		}
		if err := w.top(s.board, scoreboard.PastTime{At: s.at}); wire.CodeOf(err) == wire.CodeGone {
			if !strings.Contains(err.Error(), "sbctl top --board "+string(s.board)+" --at ") ||
				!strings.Contains(err.Error(), " --archived ") {
				t.Errorf("got %v, want the command that reads the archive", err)
			}
			made++
		}
		// Also where a checkpoint has the moment: it lacks the scores as of now.
		if err := w.makeArchived(a, s.board, s.at); err != nil {
			t.Fatal(err)
		}
		w.check(s.board, scoreboard.PastTime{At: s.at}, s.lines)
		w.check(s.board, scoreboard.PastTime{At: s.at, Now: true}, w.today(s.board, s.at))
	}
	if made < 10 {
		t.Errorf("only %d moments were archived", made)
	}
	// If the last one replaced an earlier one of its moment, that took a place, too.
	if n := w.conn.Count(t, `select count(*) from checkpoints where kept_until is not null`); n != 20 && n != 19 {
		t.Errorf("%d checkpoints from the archive are kept, want 20", n)
	}
}

// Scores without what is reversed now are those of the time at which the archive was read: after
// another reversal they are a gone, until it is read again. A moment next to it is archived still.
func TestArchivedMomentAfterReversal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 60 {
		w.step()
	}
	a := w.archive()
	s := w.shown[len(w.shown)-len(w.boards)] // of the first board
	if err := w.makeArchived(a, s.board, s.at); err != nil {
		t.Fatal(err)
	}
	w.check(s.board, scoreboard.PastTime{At: s.at, Now: true}, w.today(s.board, s.at))
	before := scoreboard.PastTime{At: s.at.Add(-time.Microsecond)}
	if err := w.top(s.board, before); wire.CodeOf(err) != wire.CodeGone {
		t.Errorf("a microsecond earlier: got %v, want gone", err)
	}
	in := scoreboard.Increment{
		User: "zoe", Boards: []scoreboard.BoardID{s.board}, Delta: 3, Source: scoreboard.SourceAPI,
		Event: scoreboard.NewEventID(),
	}
	if _, err := w.s.Increments.Record(t.Context(), []scoreboard.Increment{in}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.s.Corrections.Reverse(t.Context(), "zoe", in.Event, scoreboard.Reversing{},
		because("event.reverse")); err != nil {
		t.Fatal(err)
	}
	w.check(s.board, scoreboard.PastTime{At: s.at}, s.lines)
	err := w.top(s.board, scoreboard.PastTime{At: s.at, Now: true})
	if wire.CodeOf(err) != wire.CodeGone {
		t.Errorf("after a reversal: got %v, want gone", err)
	}
	if err := w.makeArchived(a, s.board, s.at); err != nil {
		t.Fatal(err)
	}
	w.check(s.board, scoreboard.PastTime{At: s.at, Now: true}, w.today(s.board, s.at))
}

// An attempt that fails leaves nothing behind, a row that is missing is found, and a checkpoint
// is deleted when it was kept long enough, but not before.
func TestArchivedCheckpointFailsAndExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 60 {
		w.step()
	}
	checkpoint(t, w.s)
	submit(t, w.s, "yan", 2, w.boards[0])
	submit(t, w.s, "yan", 5, w.boards[0])
	at := now(t, w.s)
	want := w.lines(w.boards[0])
	a := w.archive()
	s := shown{at.Add(-age), w.boards[0], want}
	b := w.board(s.board)
	lost := errors.New("lost")
	if _, err := w.s.PastBoards.MakeArchived(t.Context(), b, s.at, func(
		context.Context, func(*scoreboard.ArchivedRow) error,
	) error {
		return lost
	}, func(int64) {}); !errors.Is(err, lost) {
		t.Errorf("got %v, want the error of the archive", err)
	}
	// The user's first row is missing, or is read twice.
	for _, times := range []int{0, 2} {
		_, err := w.s.PastBoards.MakeArchived(t.Context(), b, s.at, func(
			ctx context.Context, do func(*scoreboard.ArchivedRow) error,
		) error {
			return a.Rows(ctx, b.ID, b.Created, s.at, func(r *scoreboard.ArchivedRow) error {
				if r.User == "yan" && r.Version == 1 {
					if times == 0 {
						return nil
					}
					if err := do(r); err != nil {
						return err
					}
				}
				return do(r)
			})
		}, func(int64) {})
		if wire.CodeOf(err) != wire.CodeConflict || !strings.Contains(err.Error(), "rows of 1 users") {
			t.Errorf("a row %d times: got %v, want a conflict", times, err)
		}
	}
	kept := `select count(*) from checkpoints where kept_until is not null`
	if n := w.conn.Count(t, kept); n != 0 {
		t.Errorf("%d checkpoints are left by failed attempts", n)
	}
	if err := w.makeArchived(a, s.board, s.at); err != nil {
		t.Fatal(err)
	}
	if _, err := w.s.PastBoards.DeleteOld(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	w.check(s.board, scoreboard.PastTime{At: s.at}, s.lines)
	if n := w.conn.Count(t, `select count(*) from checkpoints where kept_until is null`); n == 0 {
		t.Error("the checkpoints of the worker are gone")
	}
	w.conn.Do(t, `update checkpoints set kept_until = clock_timestamp() where kept_until is not null`)
	for deleted := int64(1); deleted > 0; { // some at a time
		var err error
		if deleted, err = w.s.PastBoards.DeleteOld(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.conn.Count(t, kept); n != 0 {
		t.Errorf("%d checkpoints are kept longer than they must be", n)
	}
}

// An archive has the names of users who were erased after it was written. They are on no board
// that is read from it, also if another user has the name by now.
func TestArchivedNamesOfErasedUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, user := range []scoreboard.UserID{"ada", "eve", "bob"} {
		submit(t, w.s, user, int64(9-i), "sum")
	}
	at := now(t, w.s)
	submit(t, w.s, "eve", 1, "sum")
	a := w.archive()
	anonymous, err := w.s.Privacy.BeginErasure(t.Context(), "eve", because("user.erase"))
	for rows := int64(1); err == nil && rows > 0; {
		rows, err = w.s.Privacy.EraseStep(t.Context(), "eve", anonymous)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, reused := range []bool{false, true} {
		if reused {
			if err := w.s.Privacy.DeleteErasedName(t.Context(), "eve"); err != nil {
				t.Fatal(err)
			}
			submit(t, w.s, "eve", 4, "sum")
		}
		if err := w.makeArchived(a, "sum", at.Add(-age)); err != nil {
			t.Fatal(err)
		}
		for _, asNow := range []bool{false, true} {
			w.check("sum", scoreboard.PastTime{At: at.Add(-age), Now: asNow}, []string{"ada 9", "bob 7"})
		}
	}
	if n := w.conn.Count(t, `select count(*) from users where user_id = 'eve' and status = 'active'`); n != 1 {
		t.Error("the name was not used again")
	}
}
