package upkeep_test

import (
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The sum that a preview shows is bounded: by a leaked key it can exceed every integer,
// and its void must still be possible.
func TestPreviewOfHugeDeltas(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	in := increment("alice", 5, "huge", "7", "sum")
	if err := record(r, in); err != nil {
		t.Fatal(err)
	}
	sender := scoreboard.Sender{Address: in.Address, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}
	for _, c := range []struct{ sign, rows int64 }{{1, 1100}, {-1, 3300}} {
		sign, rows := c.sign, c.rows
		r.conn.Do(t, `insert into user_score_histories select (jsonb_populate_record(h,
    jsonb_build_object('user_id', 'cheat', 'event_id', gen_random_uuid(), 'applied', $1::bigint))).*
from user_score_histories as h, generate_series(1, $2) as n where user_id = 'alice'`, sign*scoreboard.MaxScore, rows)
		p, err := r.Corrections.PreviewVoid(ctx, sender)
		if err != nil || len(p.Boards) != 1 || p.Boards[0].Applied != sign*scoreboard.MaxScore {
			t.Errorf("got %+v, %v, want a sum of %d", p, err, sign*scoreboard.MaxScore)
		}
		err = r.Recovery.SumLedger(ctx, "sum", "", 1000, func([]scoreboard.LedgerSum) error { return nil })
		if err != nil {
			t.Error(err)
		}
	}
}

// A void of an address reverses its events whatever key signed them. Their
// receipts stay and are marked reversed. Without events to reverse, no void begins.
func TestVoidByAddress(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	theirs, others := increment("alice", 5, "theirs", "7", "sum"), increment("bob", 9, "theirs", "8", "sum")
	others.Address = theirs.Address
	for _, in := range []scoreboard.Increment{theirs, others, increment("alice", 6, "own", "8", "sum")} {
		if err := record(r, in); err != nil {
			t.Fatal(err)
		}
	}
	sender := scoreboard.Sender{Address: theirs.Address, From: time.Now().Add(-time.Hour), To: time.Now()}
	if p, err := r.Corrections.PreviewVoid(ctx, sender); err != nil || p.Events != 2 || p.Users != 2 {
		t.Fatalf("preview: %+v, %v", p, err)
	}
	v, err := r.Corrections.CreateVoid(ctx, sender, why())
	if err != nil {
		t.Fatal(err)
	}
	receipt := func(reversed bool) {
		t.Helper()
		out, err := r.Increments.Record(ctx, []scoreboard.Increment{theirs})
		if err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
		if got := out[0].Receipts[0]; !got.Replayed || got.Reversed != reversed || got.NewScore != 5 ||
			got.Applied != 5 {
			t.Errorf("receipt: got %+v, want the original one, reversed %t", got, reversed)
		}
	}
	r.work(t)
	receipt(true)
	if n := r.conn.Count(t, `select sum(score)::bigint from scores`); n != 6 {
		t.Errorf("%d points remain, want the 6 of the other address", n)
	}
	if n := r.conn.Count(t, `select count(*) from user_score_histories where source = 'admin'`); n != 2 {
		t.Errorf("%d reversal rows, want one per event", n)
	}
	rows := func() int64 {
		return r.conn.Count(t, `select (select count(*) from voids) * 100 + (select count(*) from audit_log)`)
	}
	before := rows()
	for what, sender := range map[string]scoreboard.Sender{
		"the same sender again": sender, "a key that sent nothing": {KeyID: "none", From: sender.From, To: sender.To},
		"another period": {KeyID: "8", From: sender.From.Add(-time.Hour), To: sender.From},
	} {
		if _, err := r.Corrections.CreateVoid(ctx, sender, why()); wire.CodeOf(err) != wire.CodeNotFound {
			t.Errorf("%s: got %v, want not_found", what, err)
		}
	}
	if after := rows(); after != before {
		t.Errorf("an empty void left a row: %d, before %d", after, before)
	}
	if _, err := r.Corrections.UndoVoid(ctx, v.ID, why()); err != nil {
		t.Fatal(err)
	}
	r.work(t)
	receipt(false)
	r.checkAll(t)
}
