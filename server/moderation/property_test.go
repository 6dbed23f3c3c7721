package moderation_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/backendtest"
	"github.com/scoreboard/scoreboard/server/moderation"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/repair"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

func TestMain(m *testing.M) { backendtest.Main(m) }

var ctx = context.Background()

// rig is a store with boards of every mode, and a ranking that is fed from its
// outbox.
type rig struct {
	*store.Store
	conn    *pgx.Conn
	ranking *ranking.Ranking
	boards  map[scoreboard.BoardID]scoreboard.Board
	cursor  scoreboard.Cursor
}

func open(t testing.TB) *rig {
	t.Helper()
	url := backendtest.Postgres(t, migrations.Up)
	s, err := store.Open(ctx, store.Options{URL: url, MaxConns: 8, LockWait: 100 * time.Millisecond, Timeout: 5 * time.Second, Shards: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	o, err := redis.ParseURL(backendtest.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	r := &rig{Store: s, ranking: ranking.New(rdb), boards: map[scoreboard.BoardID]scoreboard.Board{}}
	if r.conn, err = pgx.Connect(ctx, url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.conn.Close(ctx) })
	for _, b := range []scoreboard.Board{
		{ID: "sum", Mode: scoreboard.ModeIncrement, Order: scoreboard.OrderHighest},
		{ID: "other", Mode: scoreboard.ModeIncrement, Order: scoreboard.OrderLowest},
		{ID: "high", Mode: scoreboard.ModeBest, Order: scoreboard.OrderHighest},
		{ID: "low", Mode: scoreboard.ModeBest, Order: scoreboard.OrderLowest},
		{ID: "last", Mode: scoreboard.ModeLatest, Order: scoreboard.OrderHighest},
	} {
		b.MinScore, b.MaxScore = -scoreboard.MaxScore, scoreboard.MaxScore
		r.boards[b.ID] = b
		r.exec(t, `insert into boards (board_id, family_id, mode, sort_order, min_delta, max_delta) values ($1, $1, $2, $3, -100, 100)`, b.ID, b.Mode, b.Order)
		if _, err := repair.Rebuild(ctx, s, r.ranking, &b, func(int64) {}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *rig) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := r.conn.Exec(ctx, sql, args...); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) count(t testing.TB, sql string, args ...any) (n int64) {
	t.Helper()
	if err := r.conn.QueryRow(ctx, sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func why() *scoreboard.AuditEntry {
	return &scoreboard.AuditEntry{Who: "root", Address: "127.0.0.1", RequestID: "r", Action: "test", Target: "test", Reason: "because"}
}

func increment(user scoreboard.UserID, delta int64, event, key string, boards ...scoreboard.BoardID) scoreboard.Increment {
	id, err := scoreboard.ParseEventID(user, event)
	if err != nil {
		panic(err)
	}
	return scoreboard.Increment{
		User: user, Delta: delta, Event: id, Boards: boards, Source: scoreboard.SourceAPI, KeyID: key, Address: "192.0.2." + key, Agent: "game",
	}
}

// relay puts what the outbox has into the ranking, out of order and twice.
func (r *rig) relay(t testing.TB) {
	t.Helper()
	for {
		page, err := r.OutboxPage(ctx, 0, r.cursor, 500)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Rows) == 0 {
			// Nothing behind a running transaction is shown, whatever database
			// of the cluster it is in.
			if r.count(t, `select count(*) from outbox_score_updates where (xid, id) > ($1::text::xid8, $2)`, fmt.Sprint(r.cursor.XID), r.cursor.ID) == 0 {
				return
			}
			time.Sleep(5 * time.Millisecond)
			continue
		}
		r.cursor = page.Rows[len(page.Rows)-1].Cursor
		var changes []scoreboard.Change
		for i := range page.Rows {
			changes = append(changes, page.Rows[i].Change)
		}
		for range 2 {
			rand.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
			if cold, err := r.ranking.Apply(ctx, changes); err != nil || len(cold) > 0 {
				t.Fatal(cold, err)
			}
		}
	}
}

// agree holds ledger, scores and ranking to each other.
func (r *rig) agree(t testing.TB) {
	t.Helper()
	r.verify(t)
	r.folds(t)
}

func (r *rig) verify(t testing.TB) {
	t.Helper()
	r.relay(t)
	var boards []scoreboard.Board
	for _, b := range r.boards {
		boards = append(boards, b)
	}
	check := repair.Check{Ledger: r.Store, Ranking: r.ranking, Rows: true, Progress: func(*repair.Verified) {}}
	v, err := check.Run(ctx, boards)
	if err != nil {
		t.Fatal(err)
	}
	if v.Wrong != 0 {
		t.Fatalf("verify found %+v", v.Differences)
	}
}

// folds plays the ledger again, without what is reversed, and wants the scores.
func (r *rig) folds(t testing.TB) {
	t.Helper()
	type place struct{ user, board string }
	type state struct {
		score int64
		had   bool
	}
	states := map[place]state{}
	rows, err := r.conn.Query(ctx, `select user_id, board_id, delta, source, coalesce(action, ''),
    exists (select from reversals r where r.user_id = h.user_id and r.event_id = h.event_id)
from user_score_histories h order by user_id, board_id, version`)
	if err != nil {
		t.Fatal(err)
	}
	var p place
	var delta int64
	var source, action string
	var off bool
	if _, err := pgx.ForEachRow(rows, []any{&p.user, &p.board, &delta, &source, &action, &off}, func() error {
		s := states[p]
		board := r.boards[scoreboard.BoardID(p.board)]
		switch {
		case off, source == "admin" && action != "adjust":
		case source == "admin", board.Mode == scoreboard.ModeIncrement:
			s = state{s.score + delta, true}
		case !s.had, board.Mode == scoreboard.ModeLatest, board.Order.Key(scoreboard.Score(delta)) < board.Order.Key(scoreboard.Score(s.score)):
			s = state{delta, true}
		}
		states[p] = s
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	rows, err = r.conn.Query(ctx, `select user_id, board_id, score, empty, hidden, (select status from users u where u.user_id = s.user_id) from scores s`)
	if err != nil {
		t.Fatal(err)
	}
	var score int64
	var empty, hidden bool
	var status string
	if _, err := pgx.ForEachRow(rows, []any{&p.user, &p.board, &score, &empty, &hidden, &status}, func() error {
		want := states[p]
		if r.boards[scoreboard.BoardID(p.board)].Mode == scoreboard.ModeIncrement {
			want.had = true // a sum stays a sum
		}
		if score != want.score || empty == want.had || hidden != (empty || status == "banned" || status == "erased") {
			t.Errorf("%+v (%s): score %d, empty %t, hidden %t; its ledger comes to %+v", p, status, score, empty, hidden, want)
		}
		delete(states, p)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(states) > 0 {
		t.Errorf("no score for %+v", states)
	}
}

// worker is a worker that keeps addresses for an hour.
func (r *rig) worker() *moderation.Worker {
	return moderation.NewWorker(r.Store, r.Store, r.ranking, ranking.ErrCold, func() time.Duration { return time.Hour }, slog.New(slog.DiscardHandler))
}

// work works off voids.
func (r *rig) work(t testing.TB) {
	t.Helper()
	life := time.Minute
	for {
		v, err := r.ClaimVoid(ctx, life)
		if err != nil {
			t.Fatal(err)
		}
		if v == nil {
			return
		}
		for more := true; more; {
			if more, err = r.StepVoid(ctx, v, life); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.ReleaseVoid(ctx, v.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// act is one thing that somebody does.
type act struct {
	kind, user, event, delta int
	key                      string
	boards                   []scoreboard.BoardID
}

var drawAct = rapid.Custom(func(t *rapid.T) act {
	return act{
		kind: rapid.IntRange(0, 13).Draw(t, "kind"), user: rapid.IntRange(0, 2).Draw(t, "user"), event: rapid.IntRange(0, 7).Draw(t, "event"),
		delta: rapid.SampledFrom([]int{-7, -3, 1, 2, 3, 5, 9}).Draw(t, "delta"), key: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "key"),
		boards: rapid.SampledFrom([][]scoreboard.BoardID{{"sum"}, {"sum", "other"}, {"high"}, {"low"}, {"high", "low"}, {"last"}}).Draw(t, "boards"),
	}
})

// Whatever increments, bans, adjustments, reversals, voids and undos run at
// once: ledger, scores and ranking agree, and a score is what its ledger comes
// to without what is reversed.
func TestAnyMixOfModerationKeepsTheLedgerTrue(t *testing.T) {
	t.Parallel()
	r := open(t)
	var runs, reversed, voided, undone, refused atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		run := runs.Add(1)
		if run > 20 && os.Getenv("SCOREBOARD_PROOF") != "1" {
			return
		}
		key := func(k string) string { return fmt.Sprintf("%s-%d", k, run) }
		plans := rapid.SliceOfN(rapid.SliceOfN(drawAct, 3, 14), 3, 3).Draw(rt, "plans")
		var all sync.WaitGroup
		for _, plan := range plans {
			all.Go(func() {
				for _, a := range plan {
					user := scoreboard.UserID(fmt.Sprintf("r%d-%d", run, a.user))
					event, _ := scoreboard.ParseEventID(user, fmt.Sprint("e", a.event))
					var err error
					switch a.kind {
					case 0:
						_, err = r.Ban(ctx, user, why())
					case 1:
						_, err = r.Unban(ctx, user, why())
					case 2:
						adjustment, _ := scoreboard.ParseEventID(user, fmt.Sprint("adjust", a.event))
						_, err = r.Adjust(ctx, user, a.boards[0], int64(a.delta), adjustment, why())
					case 3, 4, 5:
						if _, err = r.Reverse(ctx, user, event, why()); err == nil {
							reversed.Add(1)
						}
					case 6:
						now := time.Now()
						_, err = r.CreateVoid(ctx, scoreboard.Sender{KeyID: key(a.key), From: now.Add(-time.Hour), To: now}, why())
						if err == nil {
							voided.Add(1)
						}
					case 7:
						voids, listErr := r.Voids(ctx, 3)
						if err = listErr; err == nil && len(voids) > 0 {
							if _, err = r.UndoVoid(ctx, voids[0].ID, why()); err == nil {
								undone.Add(1)
							}
						}
					case 8:
						r.work(t)
					default:
						var out []scoreboard.Outcome
						out, err = r.Record(ctx, []scoreboard.Increment{increment(user, int64(a.delta), fmt.Sprint("e", a.event), key(a.key), a.boards...)})
						if err == nil {
							err = out[0].Err
						}
					}
					switch code := scoreboard.CodeOf(err); code {
					case "", scoreboard.CodeUnavailable:
					case scoreboard.CodeInternal, scoreboard.CodeScoreOutOfRange, scoreboard.CodeGone:
						t.Errorf("%+v: %v", a, err)
					default:
						refused.Add(1)
					}
				}
			})
		}
		all.Wait()
		r.work(t)
		r.agree(t)
		if t.Failed() {
			rt.FailNow()
		}
	})
	t.Logf("%d runs: %d reversed, %d voids, %d undone, %d refused", runs.Load(), reversed.Load(), voided.Load(), undone.Load(), refused.Load())
	if n := r.count(t, `select count(*) from scores where empty`); n == 0 || reversed.Load() == 0 || voided.Load() == 0 || undone.Load() == 0 {
		t.Error("nothing was emptied, reversed, voided or undone: this proves nothing")
	}
}

func TestTheWorkerTakesAVoidThatItsNodeHasLeft(t *testing.T) {
	t.Parallel()
	r := open(t)
	var batch []scoreboard.Increment
	for i := range 1200 {
		batch = append(batch, increment(scoreboard.UserID(fmt.Sprint("user", i%130)), 1, fmt.Sprint("e", i), "k", "sum"))
	}
	for b := range slices.Chunk(batch, 400) {
		if _, err := r.Record(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	sender := scoreboard.Sender{KeyID: "k", From: now.Add(-time.Hour), To: now}
	p, err := r.PreviewVoid(ctx, sender)
	if err != nil || p.Events != 1200 || p.Users != 130 || len(p.Boards) != 1 || p.Boards[0].Applied != 1200 {
		t.Fatalf("preview: %+v, %v", p, err)
	}
	v, err := r.CreateVoid(ctx, sender, why())
	if err != nil {
		t.Fatal(err)
	}
	// Somebody lists and takes two steps, and dies with the claim.
	mine, err := r.ClaimVoid(ctx, time.Second)
	if err != nil || mine == nil || mine.ID != v.ID {
		t.Fatal(mine, err)
	}
	for range 3 {
		if _, err := r.StepVoid(ctx, mine, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.count(t, `select count(*) from reversals`); n == 0 || n == 1200 {
		t.Fatalf("%d reversed: want it in the middle", n)
	}
	run, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- r.worker().Run(run) }()
	until := func(state scoreboard.VoidState) *scoreboard.Void {
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			v, err := r.Void(ctx, v.ID)
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
	if n := r.count(t, `select coalesce(sum(abs(score)), 0)::bigint from scores`); n != 0 {
		t.Errorf("scores are left: %d", n)
	}
	if _, err := r.UndoVoid(ctx, v.ID, why()); err != nil {
		t.Fatal(err)
	}
	if v := until(scoreboard.VoidUndone); v.Undone != 1200 {
		t.Errorf("undone: %+v", v)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := r.count(t, `select sum(score)::bigint from scores`); n != 1200 {
		t.Errorf("after the undo %d points, want 1200", n)
	}
	r.agree(t)
}
