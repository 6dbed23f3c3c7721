package upkeep_test

import (
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A rejected reversal has a reason and changes nothing.
func TestRejectedReversalsChangeNothing(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	for _, in := range []scoreboard.Increment{
		increment("alice", 5, "old", "7", "sum"), increment("alice", 6, "new", "7", "sum"),
		increment("bob", 5, "only", "7", "sum"),
		increment("carol", 5, "frozen", "7", "other"), increment("carol", 5, "two", "7", "sum", "other"),
	} {
		if err := record(r, in); err != nil {
			t.Fatal(err)
		}
	}
	// As after archiving: the oldest rows are deleted.
	r.conn.Do(t, `delete from user_score_histories where event_text in ('old', 'only')`)
	reverse := func(user scoreboard.UserID, event string) wire.Code {
		id, err := scoreboard.ParseEventID(user, event)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = r.Corrections.Reverse(ctx, user, id, whole, why())
		return wire.CodeOf(err)
	}
	sums := func() int64 {
		return r.conn.Count(
			t,
			`select sum(score)::bigint * 1000 + (select count(*) from user_score_histories) * 10 +
(select count(*) from audit_log) from scores`,
		)
	}
	before := sums()
	for what, got := range map[string]wire.Code{
		"an archived row":                         reverse("alice", "old"),
		"a row of a user with archived rows only": reverse("bob", "only"),
	} {
		if got != wire.CodeGone {
			t.Errorf("%s: got %q, want gone", what, got)
		}
	}
	if got := reverse("carol", "none"); got != wire.CodeNotFound {
		t.Errorf("an unknown event: got %q, want not_found", got)
	}
	for name, closing := range map[string]string{
		"frozen":   `update boards set status = 'frozen' where board_id = 'other'`,
		"archived": `update boards set status = 'archived' where board_id = 'other'`,
		"over":     `update boards set status = 'frozen', closed_at = clock_timestamp() where board_id = 'other'`,
	} {
		r.conn.Do(t, closing)
		for _, event := range []string{"frozen", "two"} { // one of two boards is enough
			if got := reverse("carol", event); got != wire.CodeBoardClosed {
				t.Errorf("event %s, board %s: got %q, want board_closed", event, name, got)
			}
		}
	}
	if after := sums(); after != before {
		t.Errorf("the rejected calls changed something: %d, before %d", after, before)
	}
	r.conn.Do(t, `update boards set status = 'active', closed_at = null where board_id = 'other'`)
	if got := reverse("carol", "two"); got != "" {
		t.Errorf("after the board is reopened: got %q", got)
	}
	if got := reverse("alice", "new"); got != "" {
		t.Errorf("a row after archived ones: got %q", got)
	}
	if n := r.conn.Count(t, `select score from scores where user_id = 'alice'`); n != 5 {
		t.Errorf("alice has %d, want the archived 5", n)
	}
}

// A void can be undone until thirty days after it completed.
func TestVoidCanBeUndoneForThirtyDays(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	if err := record(r, increment("alice", 5, "e", "7", "sum")); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	v, err := r.Corrections.CreateVoid(ctx, scoreboard.Sender{KeyID: "7", From: now.Add(-time.Hour), To: now}, why())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Corrections.UndoVoid(ctx, v.ID, why()); wire.CodeOf(err) != wire.CodeConflict {
		t.Errorf("before it completed: got %v, want a conflict", err)
	}
	work := func() {
		t.Helper()
		claimed, err := r.Corrections.ClaimVoid(ctx, time.Minute)
		if err != nil || claimed == nil {
			t.Fatal(claimed, err)
		}
		for more := true; more; {
			if more, err = r.Corrections.StepVoid(ctx, claimed, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
	}
	work()
	if n := r.conn.Count(t, `select score from scores where user_id = 'alice'`); n != 0 {
		t.Fatalf("alice has %d, want 0", n)
	}
	r.conn.Do(t, `update voids set done_at = clock_timestamp() - interval '30 days 1 minute'`)
	if _, err := r.Corrections.UndoVoid(ctx, v.ID, why()); wire.CodeOf(err) != wire.CodeGone {
		t.Errorf("after thirty days: got %v, want gone", err)
	}
	if err := r.Corrections.DeleteOldVoidEvents(ctx); err != nil {
		t.Fatal(err)
	}
	if n := r.conn.Count(t, `select count(*) from void_events`); n != 0 {
		t.Errorf("%d events are kept after the undo window", n)
	}
	if n := r.conn.Count(t, `select count(*) from reversals`); n != 1 {
		t.Errorf("%d reversals, want 1", n)
	}

	if err := record(r, increment("bob", 5, "e", "8", "sum")); err != nil {
		t.Fatal(err)
	}
	if v, err = r.Corrections.CreateVoid(
		ctx,
		scoreboard.Sender{KeyID: "8", From: now.Add(-time.Hour), To: time.Now()},
		why(),
	); err != nil {
		t.Fatal(err)
	}
	work()
	r.conn.Do(t, `update voids set done_at = clock_timestamp() - interval '29 days 23 hours' where id = $1`, v.ID)
	if err := r.Corrections.DeleteOldVoidEvents(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Corrections.UndoVoid(ctx, v.ID, why()); err != nil {
		t.Errorf("within thirty days: %v", err)
	}
	work()
	if n := r.conn.Count(t, `select score from scores where user_id = 'bob'`); n != 5 {
		t.Errorf("bob has %d, want 5", n)
	}
}

// An adjustment stays reversible when the user submits an event with its id: the operator
// says which is meant.
func TestAdjustmentWhoseIDIsTaken(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	if err := record(r, increment("eve", 1, "first", "k", "sum")); err != nil {
		t.Fatal(err)
	}
	taken := increment("eve", 2, "ticket-17", "k", "sum")
	if _, err := r.Corrections.Adjust(ctx, scoreboard.Adjustment{
		User: "eve", Board: "sum", Delta: 500, Event: taken.Event,
	}, why()); err != nil {
		t.Fatal(err)
	}
	if err := record(r, taken); err != nil {
		t.Fatal(err)
	}
	_, _, err := r.Corrections.Reverse(ctx, "eve", taken.Event, whole, why())
	if wire.CodeOf(err) != wire.CodeConflict {
		t.Errorf("without a kind: %v, want a conflict", err)
	}
	for kind, applied := range map[scoreboard.EventKind]int64{
		scoreboard.KindAdjustment: -500, scoreboard.KindEvent: -2,
	} {
		for _, replayed := range []bool{false, true} {
			got, _, err := r.Corrections.Reverse(ctx, "eve", taken.Event, scoreboard.Reversing{Kind: kind}, why())
			if err != nil || len(got) != 1 || got[0].Applied != applied || got[0].Replayed != replayed {
				t.Errorf("the reversal of the %s: %+v, %v, want %d", kind, got, err, applied)
			}
		}
	}
	st, err := r.Reads.Statement(ctx, scoreboard.StatementQuery{User: "eve", Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[scoreboard.EventKind]int{}
	for _, row := range st.Rows {
		kinds[row.Kind]++
	}
	if kinds[scoreboard.KindEvent] != 2 || kinds[scoreboard.KindAdjustment] != 1 ||
		kinds[scoreboard.KindReversal] != 2 {
		t.Errorf("the statement has %v", kinds)
	}
	r.verify(t)
}
