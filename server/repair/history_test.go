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

// carry puts what the outbox holds behind a cursor into the ranking.
func (r *rig) carry(t *testing.T, at *scoreboard.Cursor) {
	t.Helper()
	page, err := r.OutboxPage(ctx, 0, *at, 500)
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

func (r *rig) keep(t *testing.T) {
	t.Helper()
	k := repair.NewKeeper(store.NewCatalog(r.Store, slog.New(slog.DiscardHandler)), r.Store, r.ranking, slog.New(slog.DiscardHandler))
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- k.Run(running) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func (r *rig) turned(t *testing.T) *repair.Turn {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		turn, err := repair.Turned(ctx, r.Store, r.ranking)
		if err == nil {
			return turn
		}
		if time.Now().After(deadline) { // a recovery takes a moment
			t.Fatal(err)
		}
	}
}

// TestPostgreSQLWentBackInTime copies a database's folder, goes on, and brings
// the copy back: as it was (a snapshot of the disk), and recovered onto a
// timeline of its own (a backup, a promoted replica). What Redis was told
// meanwhile has greater revisions than the truth, and must not win.
func TestPostgreSQLWentBackInTime(t *testing.T) {
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
			if turn := r.turned(t); turn != nil {
				t.Fatalf("at first: %s", turn)
			}
			r.close()
			stop()
			copyFolder(t, filepath.Join(dir, "postgres"), filepath.Join(dir, "copy"))
			url, stop = start()
			r.reopen(t, url)
			for range 5 {
				r.record(t, 0, 30) // ten users more, and higher scores
			}
			r.carry(t, &at)
			if turn := r.turned(t); turn != nil {
				t.Fatalf("after an orderly restart: %s", turn)
			}
			lost, err := r.ranking.Top(ctx, r.board.ID)
			if err != nil || lost.Total != 30 {
				t.Fatal(lost, err)
			}
			late := change(3, 99, 1_000_000) // of the future that will be lost, still on its way
			r.close()
			stop()

			if err := os.RemoveAll(filepath.Join(dir, "postgres")); err != nil {
				t.Fatal(err)
			}
			copyFolder(t, filepath.Join(dir, "copy"), filepath.Join(dir, "postgres"))
			if recover {
				recovery(t, filepath.Join(dir, "postgres"))
			}
			url, stop = start()
			r.reopen(t, url)
			turn := r.turned(t)
			if turn == nil || !turn.Own {
				t.Fatalf("after going back: %v, want a turn of the database itself", turn)
			}
			r.keep(t) // does the rest
			for deadline := time.Now().Add(30 * time.Second); r.turned(t) != nil; time.Sleep(50 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("not settled after 30 s")
				}
			}
			if _, err := r.ranking.Apply(ctx, []scoreboard.Change{late}); err != nil {
				t.Fatal(err)
			}
			r.same(t)
			if v := r.check(t, false); v.Wrong > 0 || v.Users != 20 {
				t.Errorf("%d users, %d differences: %s", v.Users, v.Wrong, kinds(v))
			}
			at = scoreboard.Cursor{}
			r.record(t, 0, 20) // and on it goes
			r.carry(t, &at)
			r.same(t)
		})
	}
}

// TestAnotherDatabaseIsNotMadeTheTruthByItself points everything at a database
// that Redis knows nothing of, as a wrong setting would.
func TestAnotherDatabaseIsNotMadeTheTruthByItself(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, 0, 20)
	r.rebuild(t)
	if turn := r.turned(t); turn != nil {
		t.Fatal(turn)
	}
	r.close()
	other := openOn(t, backendtest.Postgres(t, migrations.Up))
	other.rdb, other.ranking = r.rdb, r.ranking
	other.record(t, 50, 5)
	before, err := r.ranking.Top(ctx, r.board.ID)
	if err != nil {
		t.Fatal(err)
	}
	turn := other.turned(t)
	if turn == nil || turn.Own || !strings.Contains(turn.String(), "another one") {
		t.Fatalf("got %v, want that it is another one", turn)
	}
	other.keep(t)
	time.Sleep(2500 * time.Millisecond) // two looks of the keeper
	after, err := r.ranking.Top(ctx, r.board.ID)
	if err != nil || after.Epoch != before.Epoch || after.Total != 20 {
		t.Fatalf("the keeper has overwritten the board: %+v, %v", after, err)
	}
	// A person means it.
	if err := repair.Adopt(ctx, other.Store); err != nil {
		t.Fatal(err)
	}
	other.rebuild(t)
	if err := repair.Adopted(ctx, other.Store, other.ranking); err != nil {
		t.Fatal(err)
	}
	if turn := other.turned(t); turn != nil {
		t.Errorf("after it was adopted: %s", turn)
	}
	other.same(t)
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.CommandContext(ctx, "cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// recovery makes the next start one of a backup: it ends on a new timeline.
func recovery(t *testing.T, dir string) {
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
