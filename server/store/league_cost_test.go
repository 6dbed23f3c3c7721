package store_test

import (
	"context"
	"fmt"
	"slices"
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
	a, b, c, d := members["ada"].cohort, members["bob"].cohort, members["cy"].cohort, members["dan"].cohort
	if a == b || b == 0 || c != b || d != a {
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

// A player's outcomes are listed newest first, page by page, and by league; of one that was corrected, the newest
// revision alone.
func TestOutcomesOfAPlayer(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	for _, name := range []scoreboard.BoardID{"stars", "moons"} {
		period := createLeague(t, s, name, scoreboard.League{Divisions: 5, CohortSize: 5, Min: 1, Promote: 1})
		for n := range 3 {
			if o := record(t, s, increment("ada", 5, fmt.Sprint(name, n), name)); o[0].Err != nil {
				t.Fatal(o[0].Err)
			}
			next := nextSeason(t, s, name, n+2)
			sealCup(t, s, period)
			decideAll(t, []*store.Store{s}, 100)
			period = next
		}
	}
	conn.Do(t, `insert into league_outcomes (board_id, user_id, revision, cohort_id, rank, players, from_division,
    step, to_division, moved)
select board_id, user_id, 2, cohort_id, rank, players, from_division, 0, 1, -1 from league_outcomes
where board_id = 'stars:s3'`)
	list := func(league scoreboard.BoardID, size int) (all []string) {
		t.Helper()
		for before := int64(0); ; {
			page, err := s.Leagues.Outcomes(t.Context(), "ada", league, before, size)
			if err != nil || len(page) > size {
				t.Fatalf("got %+v, %v, want at most %d", page, err, size)
			}
			if len(page) == 0 {
				return all
			}
			for i := range page {
				o := &page[i]
				all = append(all, fmt.Sprintf("%s %d>%d", o.Board, o.From, o.To))
				before = o.ID
			}
		}
	}
	stars := []string{"stars:s3 3>1", "stars:s2 2>3", "stars:s1 1>2"}
	moons := []string{"moons:s3 3>4", "moons:s2 2>3", "moons:s1 1>2"}
	for _, size := range []int{1, 2, 100} {
		if got := list("stars", size); !slices.Equal(got, stars) {
			t.Errorf("pages of %d of stars: got %q, want %q", size, got, stars)
		}
		got := list("", size)
		want := slices.Concat(stars[:1], moons, stars[1:]) // the corrected one is the newest
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: got %q, want %q", size, got, want)
		}
	}
	if other, err := s.Leagues.Outcomes(t.Context(), "bob", "", 0, 10); err != nil || len(other) > 0 {
		t.Errorf("another player has %+v, %v", other, err)
	}
}
