package migrations_test

import (
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
)

// A long transaction has a table that a migration changes. Others that use the table
// wait for a second at most, and the migration is applied once the transaction ends.
func TestMigrationsWaitShortlyForLocks(t *testing.T) {
	t.Parallel()
	url := backends.Postgres(t, nil)
	if err := migrations.Up(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	long, other := backends.Connect(t, url), backends.Connect(t, url)
	long.Do(t, `begin`)
	long.Do(t, `select count(*) from reversals`)
	ended := make(chan error, 1)
	go func() {
		ended <- migrations.UpNext(t.Context(), t, url, `alter table reversals add column test integer`)
	}()
	waits := `select count(*) from pg_locks where relation = 'reversals'::regclass and not granted`
	for range 2 { // attempts
		for other.Count(t, waits) == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		other.Do(t, `select count(*) from reversals`) // queued behind the migration
		select {
		case err := <-ended:
			t.Fatalf("migrated during the transaction: %v", err)
		default:
		}
	}
	long.Do(t, `commit`)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	other.Do(t, `select test from reversals`)
}
