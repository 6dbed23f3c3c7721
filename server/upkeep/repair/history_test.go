package repair_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/devstack/process"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/upkeep"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

// applyOutbox applies the outbox rows after a cursor to the ranking.
func (r *rig) applyOutbox(t *testing.T, at *scoreboard.Cursor) {
	t.Helper()
	page, err := r.Outbox.OutboxPage(ctx, 0, *at, 500)
	if err != nil {
		t.Fatal(err)
	}
	var changes []scoreboard.Change
	for _, row := range page.Rows {
		changes, *at = append(changes, row.Change), row.Cursor
	}
	if _, err := r.ranking.Apply(ctx, changes); err != nil {
		t.Fatal(err)
	}
}

// runner returns what runs the jobs of a process.
func (r *rig) runner(owner string) *upkeep.Runner {
	return upkeep.NewRunner(owner, r.Leases, slog.New(slog.DiscardHandler))
}

// startRebuilder runs a rebuilder until the test ends.
func (r *rig) startRebuilder(t *testing.T) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	rebuilder := repair.NewRebuilder(
		store.NewCatalog(r.Boards, quiet), r.Recovery, r.ranking, r.runner(rand.Text()), quiet,
	)
	backends.Run(t, rebuilder.Run)
}

// checkHistory waits until PostgreSQL answers: recovery takes a moment.
func (r *rig) checkHistory(t *testing.T) *repair.HistoryChange {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		change, err := repair.KeepHistory(ctx, r.Recovery, r.ranking)
		if err == nil {
			return change
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// TestRebuildAfterPostgresWentBack copies a data directory, records more, and
// restores the copy: as it was (a disk snapshot), and recovered onto a new
// timeline (a backup or a promoted replica). What Redis received meanwhile has
// higher revisions than the restored store and must not win.
func TestRebuildAfterPostgresWentBack(t *testing.T) {
	t.Parallel()
	for name, recover := range map[string]bool{"snapshot": false, "backup": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, remove, err := process.TempDir("scoreboard-test-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = remove() })
			port := 0
			start := func() (url string, stop func()) {
				p, err := backends.StartPostgres(ctx, dir, port)
				if err != nil && os.Getenv("CI") == "true" {
					t.Fatal(err)
				}
				if err != nil {
					t.Skipf("NO POSTGRESQL: %v", err)
				}
				port = p.Port
				if err := p.EnsureDatabase(ctx, "scoreboard"); err != nil {
					t.Fatal(err)
				}
				return p.URL("scoreboard"), p.Kill
			}
			url, stop := start()
			t.Cleanup(func() { stop() })
			if err := migrations.Up(ctx, url); err != nil {
				t.Fatal(err)
			}
			r := openOn(t, url)
			var at scoreboard.Cursor
			r.record(t, 0, 20)
			r.rebuild(t)
			if change := r.checkHistory(t); change != nil {
				t.Fatalf("before the restore: %s", change)
			}
			r.close()
			stop()
			copyDir(t, filepath.Join(dir, "postgres"), filepath.Join(dir, "copy"))
			url, stop = start()
			r.reopen(t, url)
			for range 5 {
				r.record(t, 0, 30) // ten more users, and higher scores
			}
			r.applyOutbox(t, &at)
			if change := r.checkHistory(t); change != nil {
				t.Fatalf("after a normal restart: %s", change)
			}
			lost, err := r.ranking.Top(ctx, &r.board)
			if err != nil || lost.Total != 30 {
				t.Fatal(lost, err)
			}
			late := change(3, 99, 1_000_000) // recorded after the copy, delivered late
			r.close()
			stop()

			if err := os.RemoveAll(filepath.Join(dir, "postgres")); err != nil {
				t.Fatal(err)
			}
			copyDir(t, filepath.Join(dir, "copy"), filepath.Join(dir, "postgres"))
			if recover {
				enableRecovery(t, filepath.Join(dir, "postgres"))
			}
			url, stop = start()
			r.reopen(t, url)
			change := r.checkHistory(t)
			if change == nil || !change.SameDatabase {
				t.Fatalf("after the restore: got %v, want a change within the same database", change)
			}
			r.startRebuilder(t)
			r.awaitAdoption(t)
			if _, err := r.ranking.Apply(ctx, []scoreboard.Change{late}); err != nil {
				t.Fatal(err)
			}
			r.same(t)
			if v := r.check(t, false); v.DifferenceCount > 0 || v.Users != 20 {
				t.Errorf("%d users, %d differences: %s", v.Users, v.DifferenceCount, kinds(v))
			}
			at = scoreboard.Cursor{}
			r.record(t, 0, 20)
			r.applyOutbox(t, &at)
			r.same(t)
		})
	}
}

// TestOtherDatabaseNeedsAnOperator connects to a database that Redis was not
// built from, as a wrong setting would.
func TestOtherDatabaseNeedsAnOperator(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, 0, 20)
	r.rebuild(t)
	if change := r.checkHistory(t); change != nil {
		t.Fatal(change)
	}
	r.close()
	other := openOn(t, backends.Postgres(t, migrations.Up))
	other.rdb, other.ranking = r.rdb, r.ranking
	other.record(t, 50, 5)
	before, err := r.ranking.Top(ctx, &r.board)
	if err != nil {
		t.Fatal(err)
	}
	change := other.checkHistory(t)
	if change == nil || change.SameDatabase || !strings.Contains(change.String(), "not the database") {
		t.Fatalf("got %v, want a different database", change)
	}
	other.startRebuilder(t)
	time.Sleep(2500 * time.Millisecond) // two checks of the rebuilder
	after, err := r.ranking.Top(ctx, &r.board)
	if err != nil || after.Epoch != before.Epoch || after.Total != 20 {
		t.Fatalf("the rebuilder overwrote the board: %+v, %v", after, err)
	}
	// The operator adopts it.
	adoption := repair.Adoption{Store: other.Recovery, Ranking: other.ranking, Runner: other.runner("operator")}
	why := &scoreboard.AuditEntry{
		Actor: "root", Action: repair.AdoptAction, Target: repair.AdoptTarget, Reason: "moved",
	}
	mayAdopt := func(*repair.HistoryChange) error { return nil }
	rebuild := func(context.Context) error { other.rebuild(t); return nil }
	if err := adoption.Run(ctx, why, mayAdopt, rebuild); err != nil {
		t.Fatal(err)
	}
	if change := other.checkHistory(t); change != nil {
		t.Errorf("after adoption: %s", change)
	}
	other.same(t)
}

// advancingRecorder has another process check the history just before it is read.
type advancingRecorder struct {
	repair.HistoryRecorder
	advance func()
}

func (m advancingRecorder) History(ctx context.Context) (scoreboard.History, error) {
	m.advance()
	return m.HistoryRecorder.History(ctx)
}

// TestTwoNodesKeepTheHistory has one node store a position that the log reached after
// another began to check.
func TestTwoNodesKeepTheHistory(t *testing.T) {
	t.Parallel()
	r := open(t)
	for n := range 3 {
		marker := advancingRecorder{r.ranking, func() {
			r.record(t, 10*n, 10)
			if change := r.checkHistory(t); change != nil {
				t.Errorf("the other node: %s", change)
			}
		}}
		change, err := repair.KeepHistory(ctx, r.Recovery, marker)
		if err != nil || change != nil {
			t.Fatalf("got %v, %v; want no change of a healthy PostgreSQL", change, err)
		}
	}
}

// TestSmallLossIsFound: the log of the restored database has grown past the position
// that Redis knows.
func TestSmallLossIsFound(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, 0, 20)
	r.rebuild(t)
	for range 3 {
		if change := r.checkHistory(t); change != nil {
			t.Fatal(change)
		}
	}
	r.conn.Do(t, `update history_mark set mark = mark - 1`) // as in a copy made a second ago
	r.record(t, 0, 40)
	for range 3 {
		if change := r.checkHistory(t); change == nil || !change.SameDatabase {
			t.Fatalf("got %v, want a change within the same database", change)
		}
	}
	r.startRebuilder(t)
	r.awaitAdoption(t)
	r.same(t)
}

// goBack makes the history that Redis knows later than the database's.
func (r *rig) goBack(t *testing.T) {
	t.Helper()
	if change := r.checkHistory(t); change != nil {
		t.Fatal(change)
	}
	h, err := r.ranking.History(ctx)
	if err != nil {
		t.Fatal(err)
	}
	h.Position += 1 << 40
	if err := r.ranking.SetHistory(ctx, h); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) awaitAdoption(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for ; r.checkHistory(t) != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("history not adopted after 30 s")
		}
	}
}

// TestOneNodeAdoptsAndAuditsTheHistory runs three nodes.
func TestOneNodeAdoptsAndAuditsTheHistory(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, 0, 20)
	before := r.rebuild(t)
	for range 2 {
		r.goBack(t)
		for range 3 {
			r.startRebuilder(t)
		}
		r.awaitAdoption(t)
	}
	time.Sleep(2500 * time.Millisecond) // two more checks of each
	if n := r.conn.Count(t, `select count(*) from adopted_histories`); n != 2 {
		t.Errorf("adopted %d times, want twice", n)
	}
	n := r.conn.Count(t, `select count(*) from audit_log as a join adopted_histories as h on h.xid::text = a.xmin::text
where who = 'scoreboardd' and action = 'history.adopt' and target = 'database:postgresql' and reason <> ''
  and detail->>'before' <> detail->>'now'`)
	if n != 2 {
		t.Errorf("%d audit entries in the transactions of the adoptions, want 2", n)
	}
	after, err := r.ranking.Top(ctx, &r.board)
	if err != nil || after.Epoch <= before.Epoch || after.Total != 20 {
		t.Errorf("after: %+v, %v", after, err)
	}
	if n := r.conn.Count(t, `select count(*) from leases where name = 'history'`); n != 0 {
		t.Error("the lease is not released")
	}
	r.same(t)
}

// TestWriterOlderThanAdoptionIsRanked commits, after the adoption, an increment that was
// recorded before it.
func TestWriterOlderThanAdoptionIsRanked(t *testing.T) {
	t.Parallel()
	r := openOn(t, backends.OwnPostgres(t, migrations.Up).URL) // other tests need not wait for the writer
	r.record(t, 0, 20)
	r.rebuild(t)
	r.goBack(t)
	writer, err := r.conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`insert into users (user_id) values ('slow')`,
		`insert into scores (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at)
values ('slow', 'global', 7, -7, 1, 1, clock_timestamp(), clock_timestamp())`,
		`insert into outbox_score_updates (shard, event_id, user_id, board_id, score, delta, order_key, version,
    revision, reached_at, recorded_at)
select 0, gen_random_uuid(), user_id, board_id, score, score, order_key, version, revision, reached_at, recorded_at
from scores where user_id = 'slow'`,
	} {
		if _, err := writer.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	r.startRebuilder(t)
	other := backends.Connect(t, r.url)
	deadline := time.Now().Add(10 * time.Second)
	for ; other.Count(t, `select count(*) from adopted_histories`) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("history not adopted after 10 s")
		}
	}
	time.Sleep(time.Second) // a rebuild takes less
	if err := writer.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	r.awaitAdoption(t)
	var at scoreboard.Cursor
	r.applyOutbox(t, &at)
	if p, err := r.ranking.Place(ctx, &r.board, "slow", 0); err != nil || p.Score != 7 {
		t.Errorf("got %+v, %v; want the committed increment", p, err)
	}
	if v := r.check(t, false); v.Users != 21 || slices.ContainsFunc(v.Differences, func(d repair.Difference) bool {
		return d.Kind != "no_ledger" // this writer writes none
	}) {
		t.Errorf("%d users, %d differences: %s", v.Users, v.DifferenceCount, kinds(v))
	}
}

// TestStuckWriterDelaysTheRebuild: the adoption is not repeated while a transaction that
// is older does not end, and boards are not read.
func TestStuckWriterDelaysTheRebuild(t *testing.T) {
	t.Parallel()
	r := openOn(t, backends.OwnPostgres(t, migrations.Up).URL) // other tests need not wait for the writer
	r.record(t, 0, 20)
	r.rebuild(t)
	r.goBack(t)
	writer, err := r.conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Exec(ctx, `insert into users (user_id) values ('stuck')`); err != nil {
		t.Fatal(err)
	}
	stopped := errors.New("stopped")
	adoption := repair.Adoption{Store: r.Recovery, Ranking: r.ranking, Runner: r.runner("a")}
	why := &scoreboard.AuditEntry{Actor: "root", Action: repair.AdoptAction, Target: repair.AdoptTarget, Reason: "test"}
	mayAdopt := func(*repair.HistoryChange) error { return nil }
	rebuild := func(ctx context.Context) error {
		_, err := repair.Rebuild(ctx, r.Recovery, r.ranking, &r.board, func(int64) {})
		if wire.CodeOf(err) != wire.CodeUnavailable {
			t.Errorf("a rebuild beside an older transaction: got %v, want unavailable", err)
		}
		return stopped
	}
	for range 2 {
		if err := adoption.Run(ctx, why, mayAdopt, rebuild); !errors.Is(err, stopped) {
			t.Fatal(err)
		}
	}
	if _, err := r.ranking.Top(ctx, &r.board); !errors.Is(err, scoreboard.ErrNotLoaded) {
		t.Errorf("a board of the history before: got %v, want not loaded", err)
	}
	change := r.checkHistory(t)
	if change == nil || !change.Adopted {
		t.Fatalf("got %v, want a change that is adopted", change)
	}
	if err := writer.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if n := r.conn.Count(t, `select count(*) from adopted_histories`); n != 1 {
		t.Errorf("adopted %d times, want once", n)
	}
	r.startRebuilder(t)
	r.awaitAdoption(t)
	r.same(t)
}

// TestAdoptionHoldsItsLease: a second process waits, and the first one stops once it
// has lost the lease.
func TestAdoptionHoldsItsLease(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, 0, 20)
	r.rebuild(t)
	r.goBack(t)
	why := &scoreboard.AuditEntry{Actor: "root", Action: repair.AdoptAction, Target: repair.AdoptTarget, Reason: "test"}
	mayAdopt := func(*repair.HistoryChange) error { return nil }
	run := func(owner string, rebuild func(context.Context) error) error {
		a := repair.Adoption{Store: r.Recovery, Ranking: r.ranking, Runner: r.runner(owner)}
		return a.Run(ctx, why, mayAdopt, rebuild)
	}
	second := func(context.Context) error { t.Error("a second process rebuilds at the same time"); return nil }
	err := run("first", func(ctx context.Context) error {
		if err := run("second", second); !errors.Is(err, repair.ErrAdoptedElsewhere) {
			t.Errorf("the second: got %v", err)
		}
		r.conn.Do(t, `update leases set owner = 'thief' where name = 'history'`)
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
			t.Error("the lease was lost 10 s ago, and the rebuild goes on")
		}
		return nil
	})
	if !errors.Is(err, repair.ErrAdoptedElsewhere) {
		t.Errorf("the first: got %v", err)
	}
	if change := r.checkHistory(t); change == nil || !change.Adopted {
		t.Errorf("got %v, want an adoption that is not complete", change)
	}
}

// TestEpochsNeverGoBack restores the sequence of epochs, and empties Redis.
func TestEpochsNeverGoBack(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, 0, 5)
	last := r.rebuild(t).Epoch
	for _, loseRedis := range []bool{false, true} {
		r.conn.Do(t, `select setval('board_epochs', 3)`)
		if loseRedis {
			if err := r.rdb.FlushAll(ctx).Err(); err != nil {
				t.Fatal(err)
			}
		}
		next := r.rebuild(t).Epoch
		if next <= last {
			t.Errorf("epoch %d after %d (Redis lost: %t)", next, last, loseRedis)
		}
		last = next
	}
	// A clock that went back: the live board's epoch still counts.
	ahead := last + 1<<40
	if err := r.rdb.HSet(ctx, "sb:{global}:meta", "epoch", ahead).Err(); err != nil {
		t.Fatal(err)
	}
	if next := r.rebuild(t).Epoch; next != ahead+1 {
		t.Errorf("epoch %d after %d", next, ahead)
	}
	if _, err := r.Recovery.NextEpoch(ctx, scoreboard.MaxEpoch); err == nil {
		t.Error("an epoch beyond the greatest")
	}
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.CommandContext(ctx, "cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// enableRecovery makes the next start recover a backup, onto a new timeline.
func enableRecovery(t *testing.T, dir string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", "postgresql.auto.conf"))
	if here, err2 := filepath.Glob(filepath.Join(dir, "postgresql.auto.conf")); err2 == nil {
		found = append(found, here...)
	}
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	conf, err := os.OpenFile(found[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conf.WriteString("restore_command = 'false'\n"); err != nil {
		t.Fatal(err)
	}
	if err := conf.Close(); err != nil {
		t.Fatal(err)
	}
	signal := filepath.Join(filepath.Dir(found[0]), "recovery.signal")
	if err := os.WriteFile(signal, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(ctx, "chown", "--reference="+found[0], signal).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
