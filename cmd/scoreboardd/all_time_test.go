package main

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// databaseClock is the clock of one test's database, which the test sets. Whatever calls a clock
// there by its plain name finds this one; the clocks of the daemons stay right.
type databaseClock struct {
	h     *harness
	owner *backends.Conn
}

// newDatabaseClock must be called before the daemons connect.
func (h *harness) newDatabaseClock(at time.Time) *databaseClock {
	h.t.Helper()
	c := &databaseClock{h, backends.Connect(h.t, h.postgres)}
	c.set(at)
	c.owner.Do(h.t, `do $$
declare
    f regprocedure;
begin
    execute format('alter database %I set search_path = public, pg_catalog', current_database());
    for f in select oid from pg_proc where pronamespace = 'public'::regnamespace and proconfig is not null loop
        execute format('alter function %s set search_path = public, pg_catalog, pg_temp', f);
    end loop;
end
$$`)
	// What the migrations have created is older than what is recorded from now on, and the ledger
	// begins with the month before.
	c.owner.Do(h.t, `update boards set created_at = public.clock_timestamp() - interval '1 hour'`)
	c.owner.Do(h.t, `select create_ledger_partition(m at time zone 'UTC', (m + interval '1 month') at time zone 'UTC')
from date_trunc('month', public.clock_timestamp() at time zone 'UTC') as m`)
	return c
}

func (c *databaseClock) set(at time.Time) {
	c.h.t.Helper()
	for name, volatility := range map[string]string{"clock_timestamp": "volatile", "now": "stable"} {
		c.owner.Do(c.h.t, fmt.Sprintf(`create or replace function public.%s() returns timestamptz language sql %s
as $$ select pg_catalog.%[1]s() + interval '%[3]d microseconds' $$`, name, volatility, time.Until(at).Microseconds()))
	}
}

// TestMarksOfDaemons lets users rise and fall while two daemons sample the ranks of each hour, of
// which the one that did so is killed. The all-time ranks are those of the samples, and each agrees with the
// history at its time.
func TestMarksOfDaemons(t *testing.T) {
	t.Parallel()
	h := newHarness(t).withoutKafka("direct")
	// The samples are of 21:00, 22:00 and 23:00, and of midnight: on the next day.
	midnight := time.Now().UTC().Add(-11 * time.Minute).Truncate(24 * time.Hour)
	hours := make([]time.Time, 4)
	for i := range hours {
		hours[i] = midnight.Add(time.Duration(i-3) * time.Hour)
	}
	const roles = "api,relay,projector,maintenance"
	clock := h.newDatabaseClock(hours[0].Add(-50 * time.Minute))
	daemons := []*daemon{h.start("--roles", roles), h.start("--roles", roles)}
	var left *daemon // the one that is not killed
	game := h.client(daemons[0], "game", auth.ScopeUpdate)
	// sample ends an hour, and waits for its sample.
	sample := func(hour time.Time) {
		t.Helper()
		clock.set(hour.Add(10 * time.Minute))
		eventually(t, "the sample of "+hour.Format(time.TimeOnly), func() error {
			query := fmt.Sprintf(`select count(*) from rank_samples where board_id = 'global' and hour = '%s'`,
				hour.Format(time.RFC3339))
			if clock.owner.Count(t, query) == 0 {
				return errors.New("there is none")
			}
			return nil
		})
	}
	add := func(user string, delta int64) {
		t.Helper()
		if _, err := game.Submit(t.Context(), client.Increment{User: user, Delta: delta}); err != nil {
			t.Fatal(err)
		}
	}
	add("alice", 5)
	add("bob", 3)
	add("carol", 1)
	sample(hours[0]) // alice bob carol
	add("carol", 10)
	sample(hours[1]) // carol alice bob
	for i, d := range daemons {
		const holds = `select count(*) from leases where name = 'checkpoints' and owner like '%%-%d-%%'`
		if clock.owner.Count(t, fmt.Sprintf(holds, d.cmd.Process.Pid)) == 1 {
			d.kill()
			left = daemons[1-i]
		}
	}
	if left == nil {
		t.Fatal("no daemon has the lease of the samples")
	}
	game = h.client(left, "game2", auth.ScopeUpdate)
	add("bob", 20)
	sample(hours[2]) // bob carol alice
	sample(hours[3]) // the same, on another day

	for user, want := range map[string]string{
		"alice": "best 1 at 21:00:00, 2 days",
		"bob":   "best 1 at 23:00:00, 2 days, climbed 2 from 22:00:00 to 23:00:00",
		"carol": "best 1 at 22:00:00, 2 days, climbed 2 from 21:00:00 to 22:00:00",
	} {
		reader := h.client(left, user, "")
		query := client.HistoryQuery{From: hours[0], To: hours[3], Step: time.Hour}
		got, err := reader.RankHistory(t.Context(), user, query)
		if err != nil || got.AllTime == nil {
			t.Fatalf("%s: got %+v, %v, want all-time ranks", user, got, err)
		}
		m := got.AllTime
		text := fmt.Sprintf("best %d at %s, %d days", m.BestRank, m.BestRankAt.Format(time.TimeOnly), m.DaysInTop10)
		if m.Climb != nil {
			text += fmt.Sprintf(", climbed %d from %s to %s", m.Climb.Ranks, m.Climb.Began.Format(time.TimeOnly),
				m.Climb.Ended.Format(time.TimeOnly))
		}
		if text != want || !m.Since.Equal(hours[0]) || m.Samples != "hourly" {
			t.Errorf("%s: got %s since %s, want %s since %s", user, text, m.Since, want, hours[0])
		}
		// Among the points, which are those of the samples, stands out the same.
		if got.BestRank != m.BestRank || !got.BestRankAt.Equal(m.BestRankAt) {
			t.Errorf("%s: the history has best rank %d at %s", user, got.BestRank, got.BestRankAt)
		}
	}
}
