package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// Plans are made while tables are tiny and kept when they are large. From the first
// increment to 100,000 ledger rows, on one set of connections, no statement may
// read more rows than it needs, whether the tables are never analysed or at the
// worst moment.
func TestPlansReadOnlyTheRowsTheyNeed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		total   int
		quiet   int // recorded one by one before the batches
		analyse int // after this many increments; -1: never
	}{
		{"never analysed", 100_000, 0, -1},
		{"analysed while empty", 20_000, 0, 0},
		{"analysed while tiny", 20_000, 60, 50},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 1 })
			items, repeats := grow(t, s, c.quiet, c.total, func(n int) {
				if n == c.analyse {
					conn.Do(t, `analyze`)
				}
			})
			s.Close()
			found := storetest.TableReads(t, conn)
			t.Logf("%d increments, %d of them repeats: %+v", items, repeats, found)
			if n := conn.Count(t, `select count(*) from user_score_histories`); n != items-repeats {
				t.Fatalf("%d ledger rows, want %d", n, items-repeats)
			}
			// A user and a score are read once and written once. A probe also reads
			// dead versions of a frequently updated row while transactions of other
			// tests in the cluster keep them from being vacuumed; a bad plan reads
			// thousands of rows per increment.
			for table, limit := range map[string]int64{
				"users": 40 * items, "scores": 40 * items,
				"user_score_histories": 2 * repeats, "outbox_score_updates": 0,
			} {
				if got := found[table]; got.Scanned > 0 || got.Indexed > limit {
					t.Errorf("%s: %d rows by scans and %d by indexes for %d increments, want none and at most %d",
						table, got.Scanned, got.Indexed, items, limit)
				}
			}
		})
	}
}

// Periodic maintenance reads none of the stored rows, whether there is work or not.
func TestMaintenanceReadsNoRows(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 1 })
	for n := range 3 {
		if _, err := s.Outbox.MakePartitions(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			grow(t, s, 0, 5_000, func(int) {})
		}
		if _, err := s.Outbox.DropPartitions(t.Context()); err != nil {
			t.Fatal(err)
		}
		if more, err := s.Privacy.DeleteOldAddresses(t.Context(), 90*24*time.Hour); err != nil || more {
			t.Fatalf("delete addresses: %v, %v", more, err)
		}
	}
	s.Close()
	found := storetest.TableReads(t, conn)
	for _, table := range []string{"user_score_histories", "outbox_score_updates"} {
		if got := found[table]; got.Scanned > 0 || got.Indexed > 100 {
			t.Errorf("%s: %d rows by scans and %d by indexes", table, got.Scanned, got.Indexed)
		}
	}
}

// grow records increments of users with skewed frequencies, the first ones one by
// one, and repeats one in a hundred. It calls reached before each batch.
func grow(t *testing.T, s *store.Store, quiet, total int, reached func(n int)) (items, repeats int64) {
	users := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, 9_999)
	var last []scoreboard.Increment
	for n := 0; n < total; {
		reached(n)
		batch := make([]scoreboard.Increment, 0, 505)
		for range cap(batch) - 5 {
			batch = append(batch, increment(scoreboard.UserID(fmt.Sprint("u", users.Uint64())), 1, fmt.Sprint(n)))
			if n++; n <= quiet {
				break
			}
		}
		again := last[:min(len(last), 5*len(batch)/cap(batch))]
		last = batch
		batch = append(batch, again...)
		items, repeats = items+int64(len(batch)), repeats+int64(len(again))
		record(t, s, batch...)
	}
	return items, repeats
}

// Plans without sequential scans look so expensive that PostgreSQL compiles them, which
// takes longer than they run.
func TestPlansAreNotCompiled(t *testing.T) {
	t.Parallel()
	url := backends.Postgres(t, migrations.Up)
	conn := backends.Connect(t, url)
	conn.Do(t, `do $$ begin execute format('alter database %I set jit = on', current_database()); end $$`)
	conn.Do(t, `create function refuse_jit() returns trigger language plpgsql as $$
begin
    if current_setting('jit') = 'on' then raise 'plans are compiled'; end if;
    return new;
end $$`)
	conn.Do(t, `create trigger refuse_jit before insert on scores for each row execute function refuse_jit()`)
	conn.Do(t, `create or replace function standings_stale() returns boolean language plpgsql as $$
begin
    if current_setting('jit') = 'on' then raise 'plans are compiled'; end if;
    return false;
end $$`)
	s := storetest.Open(t, url)
	record(t, s, increment("ann", 1, "e"))
	if _, _, err := s.Standings.Update(t.Context()); err != nil {
		t.Error(err)
	}
}
