package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// A cohort that another transaction is filling is skipped: newcomers do not wait for it, and the next one who
// finds it unlocked takes a place in it.
func TestLockedCohortIsSkipped(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	period := createLeague(t, s, "busy", scoreboard.League{Divisions: 2, CohortSize: 3, Min: 2, Promote: 1})
	record(t, s, increment("ada", 1, "e1", "busy"))
	slow := backends.Connect(t, conn.URL)
	slow.Do(t, `begin`)
	slow.Do(t, `select cohort_id from league_cohorts where board_id = $1 for update`, string(period))
	for _, user := range []scoreboard.UserID{"bob", "cy"} { // cy finds the cohort that bob has opened
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		outcomes, err := s.Increments.Record(ctx, []scoreboard.Increment{increment(user, 1, "e1", "busy")})
		stop()
		if err != nil || outcomes[0].Err != nil {
			t.Fatalf("%s waits for a locked cohort: %+v, %v", user, outcomes, err)
		}
	}
	slow.Do(t, `commit`)
	record(t, s, increment("dan", 1, "e1", "busy"))
	members := leagueMembers(t, conn, period)
	if a, b, c, d := members["ada"].cohort, members["bob"].cohort, members["cy"].cohort, members["dan"].cohort; a == b ||
		b == 0 || c != b || d != a {
		t.Errorf("ada is in cohort %d, bob in %d, cy in %d, dan in %d; want bob and cy in another one", a, b, c, d)
	}
	checkCohorts(t, conn, period, 3)
}

// An increment of a player who has a place costs one entry of one index more than on a board without a league.
func TestPlaceCostsOneProbe(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 1 })
	const players, rounds = 30, 10
	createLeague(t, s, "stars", scoreboard.League{Divisions: 2, CohortSize: 50, Min: 2, Promote: 1})
	round := func(s *store.Store, n int) {
		t.Helper()
		for p := range players {
			user := scoreboard.UserID(fmt.Sprint("p", p))
			if o := record(t, s, increment(user, 1, fmt.Sprint("e", n), "stars")); o[0].Err != nil {
				t.Fatal(o[0].Err)
			}
		}
	}
	round(s, 0)
	s.Close()
	before := storetest.TableReads(t, conn)
	again := storetest.Open(t, conn.URL, func(o *store.Options) { o.MaxConns = 1 })
	for n := range rounds {
		round(again, 1+n)
	}
	again.Close()
	after := storetest.TableReads(t, conn)
	for table, limit := range map[string]int64{
		"league_members": players * rounds, "league_cohorts": 0, "league_divisions": 0, "league_runs": 0,
	} {
		scanned := after[table].Scanned - before[table].Scanned
		if indexed := after[table].Indexed - before[table].Indexed; scanned > 0 || indexed > limit {
			t.Errorf("%s: %d rows by scans and %d index entries for %d increments, want none and at most %d", table,
				scanned, indexed, players*rounds, limit)
		}
	}
}
