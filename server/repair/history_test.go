package repair_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/backendtest"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/devstack/process"
	"github.com/scoreboard/scoreboard/server/repair"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
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

// startRebuilder runs a rebuilder until the test ends.
func (r *rig) startRebuilder(t *testing.T) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	rebuilder := repair.NewRebuilder(store.NewCatalog(r.Boards, quiet), r.Recovery, r.ranking, quiet)
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- rebuilder.Run(running) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// checkHistory waits until PostgreSQL answers: recovery takes a moment.
func (r *rig) checkHistory(t *testing.T) *repair.HistoryChange {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		change, err := repair.CheckHistory(ctx, r.Recovery, r.ranking)
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
				p, err := backendtest.StartPostgres(ctx, dir, port)
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
			lost, err := r.ranking.Top(ctx, r.board.ID)
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
			deadline := time.Now().Add(30 * time.Second)
			for ; r.checkHistory(t) != nil; time.Sleep(50 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("history not adopted after 30 s")
				}
			}
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
	other := openOn(t, backendtest.Postgres(t, migrations.Up))
	other.rdb, other.ranking = r.rdb, r.ranking
	other.record(t, 50, 5)
	before, err := r.ranking.Top(ctx, r.board.ID)
	if err != nil {
		t.Fatal(err)
	}
	change := other.checkHistory(t)
	if change == nil || change.SameDatabase || !strings.Contains(change.String(), "not the database") {
		t.Fatalf("got %v, want a different database", change)
	}
	other.startRebuilder(t)
	time.Sleep(2500 * time.Millisecond) // two checks of the rebuilder
	after, err := r.ranking.Top(ctx, r.board.ID)
	if err != nil || after.Epoch != before.Epoch || after.Total != 20 {
		t.Fatalf("the rebuilder overwrote the board: %+v, %v", after, err)
	}
	// The operator adopts it.
	if err := repair.AdoptHistory(ctx, other.Recovery); err != nil {
		t.Fatal(err)
	}
	other.rebuild(t)
	if err := repair.CompleteAdoption(ctx, other.Recovery, other.ranking); err != nil {
		t.Fatal(err)
	}
	if change := other.checkHistory(t); change != nil {
		t.Errorf("after adoption: %s", change)
	}
	other.same(t)
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
