package upkeep_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/store/history"
	"github.com/scoreboard/scoreboard/server/upkeep"
)

const timeout = 30 * time.Second

// watched are the PastBoards of a worker that stops in the middle.
type watched struct {
	*history.PastBoards
	before func(step int) // called before each transaction of a checkpoint
	made   chan<- error   // receives the result of each checkpoint
}

func (w *watched) Make(
	ctx context.Context, board scoreboard.BoardID, at time.Time, next func(context.Context) error,
) (int64, error) {
	step := 0
	users, err := w.PastBoards.Make(ctx, board, at, func(ctx context.Context) error {
		step++
		w.before(step)
		return next(ctx)
	})
	w.made <- err
	return users, err
}

// checkpointRig is a database behind a PgBouncer in transaction mode, with two stores on it.
type checkpointRig struct {
	t     *testing.T
	conn  *backends.Conn // to the database itself
	nodes [2]*store.Store
}

func newCheckpointRig(t *testing.T) *checkpointRig {
	t.Helper()
	url := backends.Postgres(t, migrations.Up)
	r := &checkpointRig{t: t, conn: backends.Connect(t, url)}
	through := backends.PgBouncer(t, url)
	for i := range r.nodes {
		r.nodes[i] = storetest.Open(t, through, func(o *store.Options) { o.Describe = true })
	}
	return r
}

var global = scoreboard.Board{
	ID: scoreboard.GlobalBoard, Family: scoreboard.GlobalBoard, Mode: scoreboard.ModeIncrement,
	Order: scoreboard.OrderHighest, Created: time.Now(),
}

func (r *checkpointRig) submit(n int) {
	r.t.Helper()
	var in []scoreboard.Increment
	for i := range n {
		in = append(in, scoreboard.Increment{
			User: scoreboard.UserID(fmt.Sprintf("u%04d", (i*7+n)%3000)), Delta: int64(1 + (i*i+n)%50),
			Boards: []scoreboard.BoardID{scoreboard.GlobalBoard}, Source: scoreboard.SourceAPI,
			Event: scoreboard.NewEventID(),
		})
	}
	for part := range slices.Chunk(in, 100) {
		outcomes, err := r.nodes[0].Increments.Record(r.t.Context(), part)
		for i := range outcomes {
			err = errors.Join(err, outcomes[i].Err)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// start runs a worker until stop is called.
func (r *checkpointRig) start(owner string, s *store.Store, before func(step int)) (made <-chan error, stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	results, ended := make(chan error, 100), make(chan error, 1)
	w := upkeep.NewCheckpoints(upkeep.CheckpointOptions{
		Events: 1, Keep: time.Hour,
	}, &watched{s.PastBoards, before, results}, upkeep.NewRunner(owner, s.Leases, slog.New(slog.DiscardHandler)))
	go func() { ended <- w.Run(ctx) }()
	return results, func() {
		r.t.Helper()
		cancel()
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
	}
}

func receive[T any](t *testing.T, what string, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(timeout):
		t.Fatalf("timed out waiting for %s", what)
	}
	return value
}

// checkRead compares the board at a moment, read on both nodes, with the ledger.
func (r *checkpointRig) checkRead(when string, at time.Time) {
	r.t.Helper()
	rows, err := r.conn.Query(r.t.Context(), `select user_id || ' ' || new_score from (
    select distinct on (user_id) user_id, new_score, recorded_at from user_score_histories
    where board_id = 'global' and recorded_at <= $1 order by user_id, version desc) as last
order by new_score desc, recorded_at, user_id`, at)
	if err != nil {
		r.t.Fatal(err)
	}
	want, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		r.t.Fatal(err)
	}
	for i, s := range r.nodes {
		var got []string
		var after *scoreboard.Position
		for more := true; more; {
			top, err := s.PastBoards.Top(r.t.Context(), &global, scoreboard.PastTime{At: at}, after, 1000)
			if err != nil {
				r.t.Fatalf("%s: node %d at %v: %v", when, i, at, err)
			}
			for j, e := range top.Entries {
				got = append(got, fmt.Sprintf("%s %d", e.User, e.Score))
				p := top.Position(j, &global)
				after = &p
			}
			more = len(top.Entries) == 1000
			if int(top.Total) != len(want) {
				r.t.Fatalf("%s: node %d at %v: %d users, want %d", when, i, at, top.Total, len(want))
			}
		}
		if !slices.Equal(got, want) {
			r.t.Fatalf("%s: node %d at %v:\n got %v\nwant %v", when, i, at, got, want)
		}
	}
}

// checkAll checks a read at the moment of each complete checkpoint, and now.
func (r *checkpointRig) checkAll(when string) {
	r.t.Helper()
	rows, err := r.conn.Query(r.t.Context(), `select at from checkpoints where complete order by at`)
	if err != nil {
		r.t.Fatal(err)
	}
	moments, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil {
		r.t.Fatal(err)
	}
	now, err := r.nodes[0].Now(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, at := range append(moments, now) {
		r.checkRead(when, at)
	}
	for what, sql := range map[string]string{
		"moments have two checkpoints": `select count(*) from (select from checkpoints where complete
group by board_id, at having count(*) > 1) as doubled`,
		"checkpoints lack standings or have some twice": `select count(*) from checkpoints as c
where complete and users <> (select coalesce(sum(b.users), 0) from checkpoint_blocks as b
    where b.checkpoint_id = c.checkpoint_id and block >= 0)`,
	} {
		if n := r.conn.Count(r.t, sql); n != 0 {
			r.t.Errorf("%s: %d %s", when, n, what)
		}
	}
}

// A worker that is slow loses its lease at any of its transactions. The worker that takes over
// makes a checkpoint, and no moment is ever read from one that is incomplete or doubled; what
// the slow one left is deleted. All through a PgBouncer in transaction mode.
func TestSlowWorkerLosesLease(t *testing.T) {
	t.Parallel()
	r := newCheckpointRig(t)
	left := 0 // rounds in which the slow worker had an unfinished checkpoint
	for stops := 1; ; stops++ {
		r.submit(2100 + stops) // three blocks
		stopped, release := make(chan struct{}), make(chan struct{})
		goOn := sync.OnceFunc(func() { close(release) })
		t.Cleanup(goOn) // before the stores close
		slowMade, stopSlow := r.start("slow", r.nodes[0], func(step int) {
			if step == stops {
				close(stopped)
				<-release
			}
		})
		select {
		case <-stopped:
		case err := <-slowMade: // it has fewer transactions
			stopSlow()
			if err != nil {
				t.Fatal(err)
			}
			if stops < 4 || left == 0 {
				t.Errorf("the worker was stopped at %d transactions, %d times in a checkpoint", stops-1, left)
			}
			r.checkAll("without a stop")
			return
		case <-time.After(timeout):
			t.Fatal("the slow worker does nothing")
		}
		when := fmt.Sprintf("stopped at step %d", stops)
		if r.conn.Count(t, `select count(*) from checkpoints where not complete`) > 0 {
			left++
		}
		r.checkAll(when)
		r.submit(50 + stops)
		r.conn.Do(t, `update leases set until = clock_timestamp() - interval '1 second' where name = 'checkpoints'`)
		fastMade, stopFast := r.start("fast", r.nodes[1], func(int) {})
		if err := receive(t, "the other worker", fastMade); err != nil {
			t.Fatalf("%s: the other worker: %v", when, err)
		}
		r.checkAll(when + ", the other is done")
		r.submit(30 + stops)
		goOn()
		err := receive(t, "the slow worker", slowMade)
		t.Logf("%s: %v", when, err)
		r.checkAll(when + ", the slow one went on")
		stopSlow()
		stopFast()
		if _, err := r.nodes[1].PastBoards.DeleteOld(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		if n := r.conn.Count(t, `select count(*) from checkpoints where not complete`); n != 0 {
			t.Errorf("%s: %d unfinished checkpoints are left", when, n)
		}
		r.checkAll(when + ", the rest is deleted")
	}
}

// Checkpoints by which no kept moment is read are deleted, and interrupted ones. The last one
// before the kept moments stays, of a board that no longer changes too, and so does one that is
// kept until later.
func TestRetentionOfCheckpoints(t *testing.T) {
	t.Parallel()
	r := newCheckpointRig(t)
	r.conn.Do(t, `insert into boards (board_id, family_id, mode) values ('quiet', 'quiet', 'increment')`)
	add := func(board, age string, complete bool, kept *string) (id int64) {
		t.Helper()
		if err := r.conn.QueryRow(t.Context(), `insert into checkpoints (board_id, at, complete, kept_until)
values ($1, now() - $2::interval, $3, now() + $4::interval) returning checkpoint_id`, board, age, complete, kept).
			Scan(&id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	longer, past := "1 hour", "-1 hour"
	stay := map[int64]string{
		add("global", "40 days", true, nil):     "the last one before the kept moments",
		add("global", "10 days", true, nil):     "one of a kept moment",
		add("global", "29 days", true, nil):     "another one of a kept moment",
		add("global", "80 days", true, &longer): "one that is kept longer",
		add("global", "35 days", true, &longer): "a later one that is kept longer",
		add("quiet", "400 days", true, nil):     "the newest of a board",
	}
	for range 15 { // more than one pass deletes
		add("global", "41 days", true, nil)
		add("quiet", "500 days", true, nil)
	}
	add("global", "90 days", true, nil)
	add("global", "33 days", false, nil)
	add("global", "1 minute", false, nil)
	add("global", "5 days", true, &past)
	for deleted := int64(1); deleted > 0; {
		var err error
		if deleted, err = r.nodes[0].PastBoards.DeleteOld(t.Context(), 30*24*time.Hour); err != nil {
			t.Fatal(err)
		}
		if deleted > 10 {
			t.Errorf("%d were deleted at once", deleted)
		}
	}
	rows, err := r.conn.Query(t.Context(), `select checkpoint_id from checkpoints`)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		t.Fatal(err)
	}
	for id, what := range stay {
		if !slices.Contains(ids, id) {
			t.Errorf("%s was deleted", what)
		}
	}
	if len(ids) != len(stay) {
		t.Errorf("%d checkpoints are left, want %d", len(ids), len(stay))
	}
}
