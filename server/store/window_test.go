package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// sqlPartitionsBefore creates the ledger's partitions of the months before the current one.
const sqlPartitionsBefore = `select create_ledger_partition(month at time zone 'UTC',
    (month + interval '1 month') at time zone 'UTC')
from (select date_trunc('month', now() at time zone 'UTC') - n * interval '1 month' from generate_series(2, 4) as n)
    as t(month)`

// A repeat is recognised in as many partitions as are set, and those are not archived.
func TestWindowOfRepeats(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for window := scoreboard.DefaultWindow; window <= scoreboard.MaxWindow; window++ {
		s, conn := storetest.New(t, func(o *store.Options) { o.Window = window })
		conn.Do(t, sqlPartitionsBefore)
		since := window.Since(now)
		for name, c := range map[string]struct {
			at       time.Time
			replayed bool
		}{
			"first": {since, true}, "last": {since.Add(-time.Microsecond), false},
		} {
			id, err := scoreboard.ParseEventID("ada", name)
			if err != nil {
				t.Fatal(err)
			}
			in := scoreboard.Increment{
				User: "ada", Delta: 5, Event: id, Boards: []scoreboard.BoardID{scoreboard.GlobalBoard},
				Source: scoreboard.SourceAPI,
			}
			record := func() bool {
				t.Helper()
				out, err := s.Increments.Record(t.Context(), []scoreboard.Increment{in})
				if err != nil || out[0].Err != nil {
					t.Fatal(out, err)
				}
				return out[0].Receipts[0].Replayed
			}
			record()
			conn.Do(t, `update user_score_histories set recorded_at = $2 where event_id = $1`, id.UUID, c.at)
			if got := record(); got != c.replayed {
				t.Errorf("window %d, recorded at %s: replayed %t, want %t", window, c.at, got, c.replayed)
			}
		}
		old, err := s.Archive.OldPartitions(t.Context(), 0)
		if err != nil || len(old) == 0 && window < scoreboard.MaxWindow {
			t.Fatalf("window %d: %v, %v", window, old, err)
		}
		for _, p := range old {
			if p.To.After(since) {
				t.Errorf("window %d: partition %s would be archived, needed since %s", window, p.Name, since)
			}
		}
	}
}

// The cost of a longer window: each event is looked up in one index more. Reported are
// medians, for an event in a batch of 500, of the look-up alone and of a record right after
// it. The partitions before the current one have 300,000 rows each.
func BenchmarkWindowOfRepeats(b *testing.B) {
	const rows, users, batch = 300_000, 100_000, 500
	url := backends.Postgres(b, migrations.Up)
	conn := backends.Connect(b, url)
	conn.Do(b, sqlPartitionsBefore)
	for month := 1; month < int(scoreboard.MaxWindow); month++ {
		conn.Do(b, `insert into user_score_histories (user_id, board_id, event_id, payload_hash, delta, applied,
    new_score, version, recorded_at, source)
select 'user' || n % $3, 'global', gen_random_uuid(), '\x00000000000000000000000000000000', 1, 1, 1, 1,
    (date_trunc('month', now() at time zone 'UTC') - make_interval(months => $1)) at time zone 'UTC'
        + n * interval '1 s', 'api'
from generate_series(1, $2) as n`, month, rows, users)
	}
	conn.Do(b, `vacuum analyze`)
	var stores []*store.Store
	for window := scoreboard.DefaultWindow; window <= scoreboard.MaxWindow; window++ {
		stores = append(stores, storetest.Open(b, url, func(o *store.Options) { o.Window = window }))
	}
	took, lookups := make([][]time.Duration, len(stores)), make([][]time.Duration, len(stores))
	event := 0
	for b.Loop() { // in turns, so that the windows share the noise and the growing table
		for n, s := range stores {
			items := make([]scoreboard.Increment, batch)
			for i := range items {
				event++
				user := scoreboard.UserID(fmt.Sprint("user", event*7919%users))
				id, err := scoreboard.ParseEventID(user, fmt.Sprint("event", event))
				if err != nil {
					b.Fatal(err)
				}
				items[i] = scoreboard.Increment{
					User: user, Delta: 1, Event: id, Boards: []scoreboard.BoardID{scoreboard.GlobalBoard},
					Source: scoreboard.SourceAPI,
				}
			}
			started := time.Now()
			if _, err := s.Increments.Known(b.Context(), items); err != nil {
				b.Fatal(err)
			}
			lookups[n] = append(lookups[n], time.Since(started))
			started = time.Now()
			if _, err := s.Increments.Record(b.Context(), items); err != nil {
				b.Fatal(err)
			}
			took[n] = append(took[n], time.Since(started))
		}
	}
	report := func(n int, what string, all []time.Duration) {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/batch, fmt.Sprintf("µs/%s-%d", what, n+2))
	}
	for n := range stores {
		report(n, "event", took[n])
		report(n, "lookup", lookups[n])
	}
}
