package store_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/migrations"
)

// A ping asks the server now: no connection that the pool has kept answers for a server that hangs or is dead.
func TestPingLeavesTheProcess(t *testing.T) {
	t.Parallel()
	server := backends.OwnPostgres(t, migrations.Up)
	s := storetest.Open(t, server.URL)
	check := func(what string, up bool) {
		t.Helper()
		ping := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // as readiness
			defer cancel()
			return s.Ping(ctx)
		}
		for end := time.Now().Add(30 * time.Second); (ping() == nil) != up && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		if err := ping(); (err == nil) != up {
			t.Errorf("%s: got %v", what, err)
		}
	}
	check("a server that runs", true)
	rows, err := backends.Connect(t, server.URL).Query(t.Context(), `select pid from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()`)
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil || len(sessions) == 0 {
		t.Fatalf("the pool has %d sessions, %v", len(sessions), err)
	}
	signal := func(s syscall.Signal) {
		for _, pid := range sessions {
			_ = syscall.Kill(pid, s)
		}
	}
	resume := server.Hang()
	t.Cleanup(func() { signal(syscall.SIGCONT) })
	signal(syscall.SIGSTOP)
	check("a server that hangs", false)
	signal(syscall.SIGCONT)
	resume()
	check("a server that goes on", true)
	server.Kill()
	check("a dead server", false)
	server.Start()
	check("a server that is back", true)
}
