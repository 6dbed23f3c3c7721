package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// throughPgBouncer opens a store behind a PgBouncer in transaction mode.
func throughPgBouncer(t testing.TB) (*store.Store, string) {
	t.Helper()
	url := backends.Postgres(t, migrations.Up)
	s := storetest.Open(t, backends.PgBouncer(t, url), func(o *store.Options) { o.MaxConns, o.Describe = 12, true })
	return s, url
}

// Twelve connections of the store share three PostgreSQL sessions, so each
// statement may run in a session that others have prepared and configured.
func TestPgBouncerInTransactionMode(t *testing.T) {
	t.Parallel()
	s, _ := throughPgBouncer(t)
	const callers, each = 12, 20
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			owner, user := fmt.Sprint("owner", c), scoreboard.UserID(fmt.Sprint("u", c))
			for n := range each {
				got := recordUntilDone(t, s, []scoreboard.Increment{
					increment(
						user,
						1,
						fmt.Sprint(n),
					),
					increment("shared", 1, fmt.Sprint(c, "-", n)),
					increment(user, 1, "again"),
				})
				// A batch that was retried after it had been written has repeats only.
				if len(got) != 3 || got[0].Err != nil || got[1].Err != nil || got[2].Err != nil ||
					got[2].Receipts[0].Replayed != (n > 0 || got[0].Receipts[0].Replayed) {
					t.Errorf("caller %d, %d: got %+v", c, n, got)
				}
				if _, err := s.Outbox.OutboxPage(t.Context(), 0, scoreboard.Cursor{}, 10); err != nil {
					t.Error(err)
				}
				if _, _, _, err := s.Outbox.ClaimShard(t.Context(), c%4, owner, time.Second); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	board := &scoreboard.Board{ID: scoreboard.GlobalBoard}
	p, err := s.Reads.Place(t.Context(), board, "shared", 1)
	if err != nil || p.Score != callers*each {
		t.Errorf("shared user: got %+v, %v, want %d", p, err, callers*each)
	}
	// Transactions of other tests in the cluster hold back the horizon briefly.
	want, deadline := callers*(2*each+1), time.Now().Add(10*time.Second)
	for {
		page, err := s.Outbox.OutboxPage(t.Context(), 0, scoreboard.Cursor{}, 10_000)
		if err == nil && len(page.Rows) == want {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the outbox has %d rows, want %d; %v", len(page.Rows), want, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// The cost of working without named prepared statements.
func BenchmarkRecord(b *testing.B) {
	for _, size := range []int{1, 32, 128} {
		for _, way := range []string{"prepared", "described", "described, PgBouncer"} {
			b.Run(fmt.Sprintf("%s/batch=%d", way, size), func(b *testing.B) {
				var s *store.Store
				if way == "described, PgBouncer" {
					s, _ = throughPgBouncer(b)
				} else {
					s, _ = storetest.New(b, func(o *store.Options) { o.Describe = way == "described" })
				}
				n := 0
				for b.Loop() {
					batch := make([]scoreboard.Increment, size)
					for i := range batch {
						n++
						batch[i] = increment(scoreboard.UserID(fmt.Sprint("u", n%10_000)), 1, fmt.Sprint(n))
					}
					record(b, s, batch...)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/increment")
			})
		}
	}
}

// Without postgres.describe such a PgBouncer breaks statements. The error says so, and callers get a 503.
func TestPgBouncerWithoutPreparedStatements(t *testing.T) {
	t.Parallel()
	url := backends.Postgres(t, migrations.Up)
	s := storetest.Open(t, backends.PgBouncer(t, url), func(o *store.Options) { o.MaxConns = 12 })
	found := make(chan error, 12)
	var all sync.WaitGroup
	for range cap(found) {
		all.Go(func() {
			for range 50 {
				if _, err := s.SchemaVersion(t.Context()); err != nil {
					found <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(found)
	n := 0
	for err := range found {
		n++
		setup := new(scoreboard.SetupError)
		if !errors.As(err, &setup) || setup.Setting != "postgres.describe" || wire.CodeOf(err) != wire.CodeUnavailable {
			t.Errorf("got %v, %s; want postgres.describe named, and unavailable", err, wire.CodeOf(err))
		}
	}
	if n == 0 {
		t.Error("no statement failed")
	}
}
