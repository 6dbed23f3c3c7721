package upkeep_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// operation is one randomly drawn call.
type operation struct {
	kind, user, event, delta int
	key                      string
	boards                   []scoreboard.BoardID
}

var drawOperation = rapid.Custom(func(t *rapid.T) operation {
	return operation{
		kind: rapid.IntRange(0, 15).
			Draw(t, "kind"),
		user:  rapid.IntRange(0, 2).Draw(t, "user"),
		event: rapid.IntRange(0, 7).Draw(t, "event"),
		delta: rapid.SampledFrom([]int{-7, -3, 1, 2, 3, 5, 9}).
			Draw(t, "delta"),
		key: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "key"),
		boards: rapid.SampledFrom([][]scoreboard.BoardID{
			{"sum"}, {"sum", "other"}, {"high"}, {"low"}, {"high", "low"}, {"last"},
		}).
			Draw(t, "boards"),
	}
})

// With any concurrent mix of increments, bans, users who leave the boards and come back,
// adjustments, reversals, voids and undos, ledger, scores and ranking agree, and a score is the sum of its ledger
// without reversed events.
func TestConcurrentModerationKeepsTheLedgerConsistent(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	var runs, reversed, voided, undone, rejected atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		run := runs.Add(1)
		if run > 20 && os.Getenv("SCOREBOARD_PROOF") != "1" {
			return
		}
		key := func(k string) string { return fmt.Sprintf("%s-%d", k, run) }
		plans := rapid.SliceOfN(rapid.SliceOfN(drawOperation, 3, 14), 3, 3).Draw(rt, "plans")
		var all sync.WaitGroup
		for _, plan := range plans {
			all.Go(func() {
				for _, a := range plan {
					user := scoreboard.UserID(fmt.Sprintf("r%d-%d", run, a.user))
					event, _ := scoreboard.ParseEventID(user, fmt.Sprint("e", a.event))
					var err error
					switch a.kind {
					case 0:
						_, err = r.Moderation.Ban(ctx, user, why())
					case 1:
						_, err = r.Moderation.Unban(ctx, user, why())
					case 2:
						adjustment, _ := scoreboard.ParseEventID(user, fmt.Sprint("adjust", a.event))
						_, err = r.Corrections.Adjust(ctx, scoreboard.Adjustment{
							User: user, Board: a.boards[0], Delta: int64(a.delta), Event: adjustment,
						}, why())
					case 3, 4, 5:
						if _, _, err = r.Corrections.Reverse(ctx, user, event, whole, why()); err == nil {
							reversed.Add(1)
						}
					case 6:
						now := time.Now()
						_, err = r.Corrections.CreateVoid(
							ctx,
							scoreboard.Sender{KeyID: key(a.key), From: now.Add(-time.Hour), To: now},
							why(),
						)
						if err == nil {
							voided.Add(1)
						}
					case 7:
						voids, listErr := r.Corrections.Voids(ctx, 3)
						if err = listErr; err == nil && len(voids) > 0 {
							if _, err = r.Corrections.UndoVoid(ctx, voids[0].ID, why()); err == nil {
								undone.Add(1)
							}
						}
					case 8:
						r.work(t)
					case 9, 10:
						to := scoreboard.VisibilityPublic
						if a.kind == 9 {
							to = scoreboard.VisibilityPrivate
						}
						_, _, err = r.Visibility.Put(ctx, user, to, why())
					default:
						var out []scoreboard.Outcome
						out, err = r.Increments.Record(
							ctx,
							[]scoreboard.Increment{
								increment(user, int64(a.delta), fmt.Sprint("e", a.event), key(a.key), a.boards...),
							},
						)
						if err == nil {
							err = out[0].Err
						}
					}
					switch code := wire.CodeOf(err); code {
					case "", wire.CodeUnavailable:
					case wire.CodeInternal, wire.CodeScoreOutOfRange, wire.CodeGone:
						t.Errorf("%+v: %v", a, err)
					default:
						rejected.Add(1)
					}
				}
			})
		}
		all.Wait()
		r.work(t)
		r.checkAll(t)
		if t.Failed() {
			rt.FailNow()
		}
	})
	t.Logf(
		"%d runs: %d reversed, %d voids, %d undone, %d rejected",
		runs.Load(),
		reversed.Load(),
		voided.Load(),
		undone.Load(),
		rejected.Load(),
	)
	if n := r.conn.Count(
		t,
		`select least(count(*) filter (where empty), (select count(*) from private_users)) from scores`,
	); n == 0 || reversed.Load() == 0 || voided.Load() == 0 ||
		undone.Load() == 0 {
		t.Error("no score was emptied, hidden, reversed, voided or undone: the test is vacuous")
	}
}

func TestWorkerContinuesAnAbandonedVoid(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	var batch []scoreboard.Increment
	for i := range 1200 {
		batch = append(
			batch,
			increment(scoreboard.UserID(fmt.Sprint("user", i%130)), 1, fmt.Sprint("e", i), "k", "sum"),
		)
	}
	for b := range slices.Chunk(batch, 400) {
		if _, err := r.Increments.Record(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	sender := scoreboard.Sender{KeyID: "k", From: now.Add(-time.Hour), To: now}
	p, err := r.Corrections.PreviewVoid(ctx, sender)
	if err != nil || p.Events != 1200 || p.Users != 130 || len(p.Boards) != 1 || p.Boards[0].Applied != 1200 {
		t.Fatalf("preview: %+v, %v", p, err)
	}
	v, err := r.Corrections.CreateVoid(ctx, sender, why())
	if err != nil {
		t.Fatal(err)
	}
	// A node lists the events, takes two steps and dies with the claim.
	claimed, err := r.Corrections.ClaimVoid(ctx, time.Second)
	if err != nil || claimed == nil || claimed.ID != v.ID {
		t.Fatal(claimed, err)
	}
	for range 3 {
		if _, err := r.Corrections.StepVoid(ctx, claimed, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.conn.Count(t, `select count(*) from reversals`); n == 0 || n == 1200 {
		t.Fatalf("%d reversed: want a partial void", n)
	}
	run, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- r.worker().Run(run) }()
	until := func(state scoreboard.VoidState) *scoreboard.Void {
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			v, err := r.Corrections.Void(ctx, v.ID)
			if err != nil {
				t.Fatal(err)
			}
			if v.State == state {
				return v
			}
			if time.Now().After(deadline) {
				t.Fatalf("waited for %s: %+v", state, v)
			}
		}
	}
	if v := until(scoreboard.VoidDone); v.Reversed != 1200 || v.Todo != 0 || v.Skipped != 0 {
		t.Errorf("done: %+v", v)
	}
	if n := r.conn.Count(t, `select coalesce(sum(abs(score)), 0)::bigint from scores`); n != 0 {
		t.Errorf("scores remain: %d", n)
	}
	if _, err := r.Corrections.UndoVoid(ctx, v.ID, why()); err != nil {
		t.Fatal(err)
	}
	if v := until(scoreboard.VoidUndone); v.Undone != 1200 {
		t.Errorf("undone: %+v", v)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := r.conn.Count(t, `select sum(score)::bigint from scores`); n != 1200 {
		t.Errorf("%d points after the undo, want 1200", n)
	}
	r.checkAll(t)
}
