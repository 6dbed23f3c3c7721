package devstack

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A copy that is made during writes has what was written before it, and follows.
func TestStandbyFollows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	primary, err := StartPostgres(t.Context(), PostgresOptions{Dir: filepath.Join(dir, "primary")})
	if err != nil {
		t.Skipf("SKIPPED: standbys were NOT CHECKED: %v", err)
	}
	t.Cleanup(primary.Kill)
	writer, err := pgx.Connect(t.Context(), primary.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = writer.Close(t.Context()) })
	if _, err := writer.Exec(t.Context(), "create table t as select 0::bigint n"); err != nil {
		t.Fatal(err)
	}
	stop, stopped, last := make(chan struct{}), make(chan error), int64(0)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if err := writer.QueryRow(t.Context(), "update t set n = n + 1 returning n").Scan(&last); err != nil {
				stopped <- err
				return
			}
		}
	}()
	copied := filepath.Join(dir, "standby")
	if err := primary.CopyAsStandby(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	standby, err := StartPostgres(t.Context(), PostgresOptions{Dir: copied})
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(copied, "postgres.log"))
		t.Fatalf("%v\n%s", err, log)
	}
	t.Cleanup(standby.Kill)
	close(stop)
	if err := <-stopped; err != nil || last == 0 {
		t.Fatalf("wrote %d times, %v", last, err)
	}
	reader, err := pgx.Connect(t.Context(), standby.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close(t.Context()) })
	var got int64
	var recovering bool
	const query = "select n, pg_is_in_recovery() from t"
	for end := time.Now().Add(time.Minute); got != last && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err := reader.QueryRow(t.Context(), query).Scan(&got, &recovering); err != nil {
			t.Fatal(err)
		}
	}
	if got != last || !recovering {
		t.Errorf("the standby has %d, want %d; it is one: %t", got, last, recovering)
	}
}
