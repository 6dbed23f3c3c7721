package store_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// starsTable is a league with a table of rewards, and what a naive version says of it.
type starsTable struct {
	name   scoreboard.BoardID
	ties   scoreboard.Ties
	reward scoreboard.RewardTable
}

// check compares the grants of a period with the naive version.
func (l *starsTable) check(t *testing.T, s *store.Store, conn *backends.Conn, period scoreboard.BoardID, page int) {
	t.Helper()
	ranked, left := finalUsers(t, conn, period)
	board := &scoreboard.Board{Order: scoreboard.OrderHighest, Ties: l.ties}
	want, got := naiveRewards(&l.reward, nil, board, ranked, left), granted(t, conn, period)
	if !maps.Equal(got, want) {
		t.Errorf("%s, %+v: granted %v, want %v", period, l.reward.Bands, got, want)
	}
	if differ, n := rewardDifferences(t, s, period, "", page); differ != nil || n != int64(len(want)) {
		t.Errorf("%s: verification of %d grants finds %v, want none of %d", period, n, differ, len(want))
	}
}

// Random leagues, with ties and users who have left the boards before or after they took a place, whose rewards
// two nodes grant that are ended after a transaction: each player gets what the first band says, of the division
// in which the player played. Nothing is granted while players wait for their divisions.
func TestRewardsByDivisionAreThoseOfANaiveVersion(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 100))
		l := starsTable{
			name: scoreboard.BoardID(fmt.Sprint("stars", seed)),
			ties: []scoreboard.Ties{"", scoreboard.TiesShared}[r.IntN(2)],
		}
		first := createLeague(t, s, l.name, scoreboard.League{
			Divisions: 3, CohortSize: 5, Min: 2, Promote: 2, Relegate: 1,
		}, l.ties)
		user := func(i int) scoreboard.UserID { return scoreboard.UserID(fmt.Sprintf("d%d-u%d", seed, i)) }
		for i := range 20 {
			if division := 1 + r.IntN(3); division > 1 {
				conn.Do(t, `insert into league_divisions values ($1, $2, $3)`, l.name, user(i), division)
			}
		}
		hide := func(to scoreboard.Visibility) {
			t.Helper()
			if _, _, err := s.Visibility.Put(t.Context(), user(r.IntN(20)), to, nil); err != nil {
				t.Fatal(err)
			}
		}
		play := func(period string) {
			for i := range 20 {
				if r.IntN(5) > 0 {
					record(t, s, increment(user(i), 1+r.Int64N(4), fmt.Sprint(period, seed, "-", i), l.name))
				}
			}
		}
		play("warm-up") // creates the users
		hide(scoreboard.VisibilityPrivate)
		play("first")
		hide(scoreboard.VisibilityPrivate)
		l.reward = scoreboard.RewardTable{Board: l.name, Bands: randomBands(r, 3), Private: r.IntN(2) == 0}
		l.reward.Bands = append(l.reward.Bands, scoreboard.RewardBand{Division: 1 + r.IntN(3), Reward: "7"})
		setRewards(t, s, l.reward)
		second := nextSeason(t, s, l.name, 2)
		play("second") // their divisions are not known
		nextSeason(t, s, l.name, 3)
		sealCup(t, s, first)
		sealCup(t, s, second)
		due, err := s.Rewards.DueRewards(t.Context())
		if err != nil || len(due) != 1 || due[0].Board != first {
			t.Fatalf("rewards of %v are due, %v, want those of %s alone", due, err, first)
		}
		grantAll(t, s, 2, 1+r.IntN(12), func() {})
		l.check(t, s, conn, first, 1+r.IntN(9))
		decideAll(t, []*store.Store{s}, 1+r.IntN(9))
		grantAll(t, s, 2, 1+r.IntN(12), func() {})
		l.check(t, s, conn, second, 1+r.IntN(9))
	}
}

// A player whose grant is of another division than that of the cohort has a wrong one.
func TestRewardsOfAnotherDivisionAreFound(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	period := createLeague(t, s, "stars", smallLeague(t))
	conn.Do(t, `insert into league_divisions values ('stars', 'ada', 3)`)
	record(t, s, increment("ada", 5, "e1", "stars"), increment("bob", 9, "e2", "stars"))
	setRewards(t, s, scoreboard.RewardTable{Board: "stars", Bands: []scoreboard.RewardBand{
		{Division: 3, Reward: "3"}, {Division: 1, Reward: "1"},
	}})
	nextSeason(t, s, "stars", 2)
	sealCup(t, s, period)
	grantAll(t, s, 1, 10, func() {})
	if got := granted(t, conn, period); got["ada"] != "2 3" || got["bob"] != "1 1" {
		t.Errorf("got %v", got)
	}
	conn.Do(t, `update reward_grants set band = 1`)
	got, _ := rewardDifferences(t, s, period, "", 10)
	if len(got) != 1 || got[0] != "reward_wrong bob rank 1 band 2" {
		t.Errorf("got %q, want bob's grant", got)
	}
	conn.Do(t, `delete from reward_grants`)
	got, _ = rewardDifferences(t, s, period, "ada", 10)
	if len(got) != 1 || got[0] != "reward_missing ada rank 2 band 1" {
		t.Errorf("got %q, want ada's grant", got)
	}
}
