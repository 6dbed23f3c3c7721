package upkeep_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep"
)

// A player who takes the id that an operator will use prevents no reversal, void, undo or adjustment.
func TestTakenIDsPreventNoCorrection(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	mine := []scoreboard.Increment{
		increment("eve", 50, "forged", "k", "sum"), increment("eve", 60, "reversed", "1", "sum"),
		increment("eve", 70, "best", "k", "high"),
	}
	for _, in := range mine {
		if err := record(r, in); err != nil {
			t.Fatal(err)
		}
	}
	if err := record(r, increment("eve", 1, "ticket-4711", "2", "other")); err != nil {
		t.Fatal(err)
	}
	score := func(board string, want int64) {
		t.Helper()
		if got := r.conn.Count(t, `select case when empty then -1 else score end from scores
where user_id = 'eve' and board_id = $1`, board); got != want {
			t.Errorf("score %d on %s, want %d", got, board, want)
		}
	}
	score("sum", 110)
	now := time.Now()
	v, err := r.Corrections.CreateVoid(ctx, scoreboard.Sender{KeyID: "k", From: now.Add(-time.Hour), To: now}, why())
	if err != nil {
		t.Fatal(err)
	}
	r.work(t)
	if v, err = r.Corrections.Void(ctx, v.ID); err != nil || v.State != scoreboard.VoidDone || v.Reversed != 2 {
		t.Fatalf("the void: %+v, %v", v, err)
	}
	score("sum", 60)
	score("high", -1)
	if _, err := r.Corrections.UndoVoid(ctx, v.ID, why()); err != nil {
		t.Fatal(err)
	}
	r.work(t)
	score("sum", 110)
	score("high", 70)
	if _, _, err := r.Corrections.Reverse(ctx, "eve", mine[1].Event, whole, why()); err != nil {
		t.Fatal(err)
	}
	score("sum", 50)
	ticket, _ := scoreboard.ParseEventID("eve", "ticket-4711")
	for _, replayed := range []bool{false, true} {
		receipt, err := r.Corrections.Adjust(ctx, scoreboard.Adjustment{
			User: "eve", Board: "sum", Delta: -20, Event: ticket,
		}, why())
		if err != nil || receipt.Replayed != replayed {
			t.Fatalf("adjust: %+v, %v", receipt, err)
		}
	}
	score("sum", 30)
	r.checkAll(t)
}

// A client's event with the id of a correction is another event: it counts once, has its
// own receipt and can be reversed. The correction keeps its receipt.
func TestClientsEventWithACorrectionsID(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	in := increment("eve", 50, "forged", "k", "sum", "other")
	if err := record(r, in); err != nil {
		t.Fatal(err)
	}
	reversal, _, err := r.Corrections.Reverse(ctx, "eve", in.Event, whole, why())
	if err != nil || len(reversal) != 2 {
		t.Fatal(reversal, err)
	}
	id := reversal[0].Event
	if !id.IsUUID() {
		t.Errorf("the reversal has the id %q, want a UUID", id.Text)
	}
	if got, err := r.Increments.Event(ctx, "eve", id); err != nil || len(got) != 2 || got[0].Applied != -50 {
		t.Errorf("the reversal by its id: %+v, %v", got, err)
	}
	same := increment("eve", 3, id.Text, "k", "sum")
	for _, replayed := range []bool{false, true} {
		out, err := r.Increments.Record(ctx, []scoreboard.Increment{same})
		if err != nil || out[0].Err != nil || out[0].Receipts[0].Replayed != replayed ||
			out[0].Receipts[0].Applied != 3 || out[0].Receipts[0].Reversed {
			t.Fatalf("the event with the reversal's id: %+v, %v", out, err)
		}
	}
	if again, _, err := r.Corrections.Reverse(ctx, "eve", in.Event, whole, why()); err != nil || len(again) != 2 ||
		!again[0].Replayed || again[0].Event != id || again[0].Applied != -50 {
		t.Errorf("the reversal again: %+v, %v", again, err)
	}
	if got, err := r.Increments.Event(ctx, "eve", id); err != nil || len(got) != 1 || got[0].Applied != 3 {
		t.Errorf("the event by its id: %+v, %v", got, err)
	}
	if got, _, err := r.Corrections.Reverse(ctx, "eve", same.Event, whole, why()); err != nil || got[0].Applied != -3 {
		t.Errorf("its reversal: %+v, %v", got, err)
	}
	r.checkAll(t)
}

// failEvent makes the database refuse the reversal of an event.
func (r *moderationRig) failEvent(t *testing.T, in scoreboard.Increment) {
	t.Helper()
	r.conn.Do(t, `create function refuse() returns trigger language plpgsql as
$$ begin raise exception 'cannot be reversed' using errcode = 'data_exception'; end $$`)
	r.conn.Do(t, fmt.Sprintf(`create trigger refuse before insert on reversals for each row
when (new.user_id = '%s' and new.event_id = '%s') execute function refuse()`,
		in.User, scoreboard.FormatUUID(in.Event.UUID)))
}

// run works on voids like a node, until none has anything to do now.
func (r *moderationRig) run(t *testing.T) {
	t.Helper()
	for {
		v, err := r.Corrections.ClaimVoid(ctx, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if v == nil {
			return
		}
		var failure error
		for more := true; more && failure == nil; {
			more, failure = r.Corrections.StepVoid(ctx, v, time.Minute)
		}
		if err := r.Corrections.ReleaseVoid(ctx, v, failure); err != nil {
			t.Fatal(err)
		}
	}
}

// now lets the waits of all voids and events end.
func (r *moderationRig) now(t *testing.T) {
	t.Helper()
	r.conn.Do(t, `update voids set next_at = '-infinity'`)
	r.conn.Do(t, `update void_events set next_at = '-infinity'`)
}

func (r *moderationRig) void(t *testing.T, key string) *scoreboard.Void {
	t.Helper()
	now := time.Now()
	v, err := r.Corrections.CreateVoid(ctx, scoreboard.Sender{KeyID: key, From: now.Add(-time.Hour), To: now}, why())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (r *moderationRig) showVoid(t *testing.T, id int64) *scoreboard.Void {
	t.Helper()
	v, err := r.Corrections.Void(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// An event that cannot be reversed, whatever the reason, delays no other event. The void
// says which one it is and why, tries it again, skips it in the end, and is done.
func TestImpossibleEventIsParked(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	var bad scoreboard.Increment
	const users, each = 30, 4
	for u := range users {
		for e := range each {
			in := increment(scoreboard.UserID(fmt.Sprint("user", u)), 1, fmt.Sprint("e", e), "k", "sum")
			if err := record(r, in); err != nil {
				t.Fatal(err)
			}
			if u == 17 && e == 2 {
				bad = in
			}
		}
	}
	r.failEvent(t, bad)
	v := r.void(t, "k")
	r.run(t)
	v = r.showVoid(t, v.ID)
	if v.State != scoreboard.VoidReversing || v.Reversed != users*each-1 || v.Todo != 1 || v.Waiting != 1 ||
		len(v.Failed) != 1 || v.Problem != "" {
		t.Fatalf("the void: %+v, want all but one event reversed", v)
	}
	f := v.Failed[0]
	if f.User != bad.User || f.Event != bad.Event.UUID || f.Skipped || f.Attempts != 1 ||
		!strings.Contains(f.Reason, "cannot be reversed") || time.Until(f.Next) > 2*time.Second {
		t.Errorf("the failure: %+v", f)
	}
	if u, err := r.Moderation.UserRecord(ctx, bad.User); err != nil || len(u.VoidFailures) != 1 ||
		u.VoidFailures[0] != f {
		t.Errorf("the user's record: %+v, %v; want %+v", u, err, f)
	}
	r.run(t) // it waits
	if n := r.conn.Count(t, `select max(attempts) from void_events`); n != 1 {
		t.Errorf("%d attempts, want none before the wait is over", n)
	}
	for attempt := 2; r.showVoid(t, v.ID).State == scoreboard.VoidReversing; attempt++ {
		if attempt > 20 {
			t.Fatal("the event is tried without end")
		}
		r.now(t)
		r.run(t)
	}
	v = r.showVoid(t, v.ID)
	if v.State != scoreboard.VoidDone || v.Skipped != 1 || v.Waiting != 0 || len(v.Failed) != 1 ||
		!v.Failed[0].Skipped || v.SkippedFor[f.Reason] != 1 {
		t.Errorf("in the end: %+v", v)
	}
	r.checkAll(t)
	if _, _, err := r.Corrections.Reverse(ctx, bad.User, bad.Event, whole, why()); err == nil {
		t.Error("the event can be reversed: the test is vacuous")
	}
	r.conn.Do(t, `drop trigger refuse on reversals`)
	r.void(t, "k") // takes what is left
	r.run(t)
	if n := r.conn.Count(t, `select sum(score)::bigint from scores`); n != 0 {
		t.Errorf("%d points are left", n)
	}
	r.checkAll(t)
}

// A void that fails as a whole waits, longer each time, and does not delay a later one.
func TestFailingVoidDelaysNoOther(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	for _, in := range []scoreboard.Increment{
		increment("alice", 5, "a", "1", "sum"), increment("bob", 7, "b", "2", "sum"),
	} {
		if err := record(r, in); err != nil {
			t.Fatal(err)
		}
	}
	first, second := r.void(t, "1"), r.void(t, "2")
	r.conn.Do(t, `create function refuse() returns trigger language plpgsql as
$$ begin raise exception 'no list' using errcode = 'data_exception'; end $$`)
	r.conn.Do(t, fmt.Sprintf(`create trigger refuse before insert on void_events for each row
when (new.void_id = %d) execute function refuse()`, first.ID))
	r.run(t)
	for attempt := 1; attempt <= 10; attempt++ {
		v := r.showVoid(t, first.ID)
		if v.State != scoreboard.VoidListing || v.Attempts != attempt || !strings.Contains(v.Problem, "no list") {
			t.Fatalf("the first void: %+v, want %d failed attempts", v, attempt)
		}
		wait := min(time.Second<<(attempt-1), time.Minute)
		if left := time.Until(v.Next); left > wait || left < wait-time.Second {
			t.Errorf("after attempt %d it waits for %s, want %s", attempt, left, wait)
		}
		r.now(t)
		r.run(t)
	}
	if v := r.showVoid(t, second.ID); v.State != scoreboard.VoidDone || v.Reversed != 1 {
		t.Errorf("the second void: %+v, want it done", v)
	}
	r.conn.Do(t, `drop trigger refuse on void_events`)
	r.now(t)
	r.run(t)
	if v := r.showVoid(t, first.ID); v.State != scoreboard.VoidDone || v.Reversed != 1 || v.Problem != "" ||
		v.Attempts != 0 {
		t.Errorf("the first void in the end: %+v", v)
	}
}

// A void waits for transactions that can still add an event of its period, and for no
// others: not for those in other databases.
func TestVoidWaitsForOwnTransactions(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	elsewhere := backends.Connect(t, backends.Postgres(t, nil))
	for _, c := range []struct {
		key   string
		conn  *backends.Conn
		state scoreboard.VoidState
	}{
		{"1", r.conn, scoreboard.VoidListing},
		{"2", elsewhere, scoreboard.VoidDone},
	} {
		if err := record(r, increment("alice", 5, c.key, c.key, "sum")); err != nil {
			t.Fatal(err)
		}
		tx, err := c.conn.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(ctx, `create table written (id int)`); err != nil {
			t.Fatal(err)
		}
		v := r.void(t, c.key)
		r.run(t)
		if v = r.showVoid(t, v.ID); v.State != c.state || v.Attempts != 0 {
			t.Errorf("void %s: %+v, want state %s", c.key, v, c.state)
		}
		if err := tx.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
		r.now(t)
		r.run(t)
		if v = r.showVoid(t, v.ID); v.State != scoreboard.VoidDone {
			t.Errorf("void %s in the end: %+v, want it done", c.key, v)
		}
	}
}

// Voids take turns: one that has more to do after its turn comes after those that wait.
func TestVoidsTakeTurns(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	for _, key := range []string{"1", "2"} {
		if err := record(r, increment("alice", 5, "e"+key, key, "sum")); err != nil {
			t.Fatal(err)
		}
	}
	first, second := r.void(t, "1"), r.void(t, "2")
	for i, want := range []int64{first.ID, second.ID, first.ID, second.ID} {
		v, err := r.Corrections.ClaimVoid(ctx, time.Minute)
		if err != nil || v == nil || v.ID != want {
			t.Fatalf("claim %d: %+v, %v; want void %d", i, v, err, want)
		}
		if err := r.Corrections.ReleaseVoid(ctx, v, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// A user who is locked delays only the own events, for as long as the lock is held.
func TestLockedUserDelaysOnlyOwnEvents(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	for _, user := range []scoreboard.UserID{"alice", "eve", "zoe"} {
		for e := range 3 {
			if err := record(r, increment(user, 1, fmt.Sprint("e", e), "k", "sum")); err != nil {
				t.Fatal(err)
			}
		}
	}
	v := r.void(t, "k")
	step, err := r.Corrections.ClaimVoid(ctx, time.Minute) // lists the events
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Corrections.StepVoid(ctx, step, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := r.Corrections.ReleaseVoid(ctx, step, nil); err != nil {
		t.Fatal(err)
	}
	lock, err := r.conn.Begin(ctx)
	if err == nil {
		_, err = lock.Exec(ctx, `select from users where user_id = 'eve' for update`)
	}
	if err != nil {
		t.Fatal(err)
	}
	held := func() *scoreboard.Void {
		w, err := r.Corrections.ClaimVoid(ctx, time.Minute)
		if err != nil || w == nil {
			t.Fatal(w, err)
		}
		for more := true; more; {
			if more, err = r.Corrections.StepVoid(ctx, w, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		return w
	}
	w := held()
	if err := lock.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if err := r.Corrections.ReleaseVoid(ctx, w, nil); err != nil {
		t.Fatal(err)
	}
	v = r.showVoid(t, v.ID)
	if v.Reversed != 6 || v.Waiting != 3 || len(v.Failed) != 3 || v.Failed[0].User != "eve" ||
		!strings.Contains(v.Failed[0].Reason, "locked") {
		t.Fatalf("while the user is locked: %+v", v)
	}
	r.now(t)
	r.run(t)
	if v = r.showVoid(t, v.ID); v.State != scoreboard.VoidDone || v.Reversed != 9 || len(v.Failed) != 0 {
		t.Errorf("in the end: %+v", v)
	}
	r.checkAll(t)
}

// Two nodes that work on voids at once reverse each event once, also if one of them has
// lost its claim without noticing.
func TestTwoNodesWorkOnVoids(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	for u := range 40 {
		for _, key := range []string{"1", "2", "3"} {
			in := increment(scoreboard.UserID(fmt.Sprint("user", u)), 2, "e"+key, key, "sum", "other")
			if err := record(r, in); err != nil {
				t.Fatal(err)
			}
		}
	}
	var voids []*scoreboard.Void
	for _, key := range []string{"1", "2", "3"} {
		voids = append(voids, r.void(t, key))
	}
	stale, err := r.Corrections.ClaimVoid(ctx, time.Millisecond) // a node that pauses
	if err != nil || stale == nil {
		t.Fatal(stale, err)
	}
	run, stop := context.WithCancel(ctx)
	ended := make(chan error)
	nodes := []*upkeep.Moderation{r.worker(), r.worker()}
	for _, node := range nodes {
		go func() { ended <- node.Run(run) }()
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if stale != nil {
			if more, err := r.Corrections.StepVoid(ctx, stale, time.Millisecond); err != nil {
				t.Error(err)
			} else if !more {
				stale = nil
			}
		}
		if r.conn.Count(t, `select count(*) from voids where state <> 'done'`) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the voids do not end")
		}
	}
	stop()
	for range nodes {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	for _, v := range voids {
		if v = r.showVoid(t, v.ID); v.Reversed != 40 || v.Skipped != 0 || v.Waiting != 0 {
			t.Errorf("%+v, want 40 events reversed", v)
		}
	}
	if n := r.conn.Count(t, `select count(*) from user_score_histories where source = 'admin'`); n != 240 {
		t.Errorf("%d rows of reversals, want 240", n)
	}
	if n := r.conn.Count(t, `select sum(score)::bigint from scores`); n != 0 {
		t.Errorf("%d points are left", n)
	}
	r.checkAll(t)
}
