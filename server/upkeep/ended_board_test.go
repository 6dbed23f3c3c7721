package upkeep_test

import (
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// An event that counted on a board that has ended can be reversed on its other boards, if
// that is asked for; a void does so, and an undo restores what it reversed. The ended board
// keeps its standings, and the response, the audit trail and the void name it.
func TestEndedBoardKeepsReversedEvents(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	first, second := increment("alice", 5, "e1", "7", "sum", "other"), increment("alice", 6, "e2", "7", "sum", "other")
	for _, in := range []scoreboard.Increment{first, second, increment("alice", 1, "e3", "7", "other")} {
		if err := record(r, in); err != nil {
			t.Fatal(err)
		}
	}
	r.conn.Do(t, `update boards set status = 'frozen', closed_at = clock_timestamp() where board_id = 'other'`)
	want := func(what string, sum int64) {
		t.Helper()
		got := []int64{
			r.conn.Count(t, `select score from scores where user_id = 'alice' and board_id = 'sum'`),
			r.conn.Count(t, `select score from scores where user_id = 'alice' and board_id = 'other'`),
		}
		if !slices.Equal(got, []int64{sum, 12}) {
			t.Errorf("%s: %d, want %d and the final 12", what, got, sum)
		}
		r.verify(t)
	}
	entry := why()
	entry.Detail = []byte(`{"event_id":"e1"}`)
	openBoards := scoreboard.Reversing{OpenBoards: true}
	reversal, closed, err := r.Corrections.Reverse(ctx, "alice", first.Event, openBoards, entry)
	if err != nil || len(reversal) != 1 || reversal[0].Applied != -5 ||
		!slices.Equal(closed, []scoreboard.BoardID{"other"}) {
		t.Fatalf("the reversal: %+v, closed %v, %v", reversal, closed, err)
	}
	want("after the reversal", 6)
	if n := r.conn.Count(t, `select count(*) from audit_log
where detail = '{"event_id": "e1", "closed_boards": ["other"]}'`); n != 1 {
		t.Errorf("%d audit entries name the ended board, want 1", n)
	}
	for _, openBoards := range []bool{true, false} {
		again, closed, err := r.Corrections.Reverse(ctx, "alice", first.Event,
			scoreboard.Reversing{OpenBoards: openBoards}, why())
		if err != nil || len(again) != 1 || !again[0].Replayed || again[0].Event.UUID != reversal[0].Event.UUID ||
			!slices.Equal(closed, []scoreboard.BoardID{"other"}) {
			t.Errorf("the reversal again: %+v, closed %v, %v; want the same", again, closed, err)
		}
	}

	sender := scoreboard.Sender{KeyID: "7", From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Second)}
	p, err := r.Corrections.PreviewVoid(ctx, sender)
	if err != nil || len(p.Boards) != 2 || !p.Boards[0].Ended || p.Boards[1].Ended {
		t.Errorf("preview: %+v, %v; want %q marked as ended", p, err, "other")
	}
	sender.To = time.Now()
	v, err := r.Corrections.CreateVoid(ctx, sender, why())
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, undone int64) {
		t.Helper()
		if v, err = r.Corrections.Void(ctx, v.ID); err != nil {
			t.Fatal(err)
		}
		if v.Reversed != 1 || v.Undone != undone || v.Skipped != 1 || v.ClosedBoards["other"] != 1 ||
			len(v.ClosedBoards) != 1 || len(v.Failed) != 1 || v.Waiting != 0 {
			t.Errorf("%s: %+v, want one event reversed but on the ended board, one skipped", what, v)
		}
		record, err := r.Moderation.UserRecord(ctx, "alice")
		if err != nil || len(record.VoidFailures) != 1 {
			t.Errorf("%s: %+v, %v; want the skipped event", what, record, err)
		}
	}
	r.work(t)
	check("void", 0)
	want("after the void", 0)
	if _, err := r.Corrections.UndoVoid(ctx, v.ID, why()); err != nil {
		t.Fatal(err)
	}
	r.work(t)
	check("undo", 1)
	want("after the undo", 6)
}

// A board that ends between a void and its undo keeps what the void reversed there.
func TestBoardEndsBeforeUndo(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	if err := record(r, increment("alice", 5, "e", "7", "sum", "other")); err != nil {
		t.Fatal(err)
	}
	v, err := r.Corrections.CreateVoid(
		ctx, scoreboard.Sender{KeyID: "7", From: time.Now().Add(-time.Hour), To: time.Now()}, why())
	if err != nil {
		t.Fatal(err)
	}
	r.work(t)
	r.conn.Do(t, `update boards set status = 'archived' where board_id = 'other'`)
	if _, err := r.Corrections.UndoVoid(ctx, v.ID, why()); err != nil {
		t.Fatal(err)
	}
	r.work(t)
	if n := r.conn.Count(t, `select sum(score * case board_id when 'sum' then 1 else 100 end) from scores`); n != 5 {
		t.Errorf("got %d, want 5 restored on the open board alone", n)
	}
	if v, err = r.Corrections.Void(ctx, v.ID); err != nil || v.Undone != 1 || v.ClosedBoards["other"] != 1 {
		t.Errorf("void: %+v, %v; want the archived board named", v, err)
	}
	r.verify(t)
}
