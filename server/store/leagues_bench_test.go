package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// BenchmarkLeagueEnd ends a period of many players in cohorts of 50: their outcomes are decided, then each gets a
// reward by the division, while 500 increments a second of the next period are recorded one by one. It reports how long
// both took, and the 99th percentile of the increments.
func BenchmarkLeagueEnd(b *testing.B) {
	for _, players := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(players), func(b *testing.B) {
			for b.Loop() {
				endLeague(b, players)
			}
		})
	}
}

// endWithMany ends the first season of the league stars with many players in cohorts of 50.
func endWithMany(b *testing.B, conn *backends.Conn, period scoreboard.BoardID, players int) {
	b.Helper()
	for _, sql := range []string{
		`insert into users (user_id) select 'u' || n from generate_series(1, $1) as n`,
		`insert into scores (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at)
select 'u' || n, 'stars:s1', n, -n, 1, 1, now(), now() from generate_series(1, $1) as n`,
		`insert into board_standings (board_id, rank, user_id, score, order_key, reached_at)
select 'stars:s1', $1::bigint - n + 1, 'u' || n, n, -n, now() from generate_series(1, $1::bigint) as n`,
		`insert into league_cohorts (board_id, division, fill, places, size, is_full)
select 'stars:s1', 1 + n % 5, '', 50, 50, true from generate_series(1, $1 / 50) as n`,
		`insert into league_members (user_id, board_id, cohort_id, fill)
select 'u' || n, 'stars:s1', 1 + n % ($1 / 50), '' from generate_series(1, $1) as n`,
		`insert into league_divisions (board_id, user_id, division)
select 'stars', m.user_id, c.division from league_members as m join league_cohorts as c using (cohort_id)
where c.division > 1 and $1 > 0`,
	} {
		conn.Do(b, sql, players)
	}
	conn.Do(b, `update boards set status = 'frozen', closed_at = now(), standings_hash = '', standings_users = $2,
    standings_version = 2 where board_id = $1`, period, players)
	conn.Do(b, `analyze`)
}

func endLeague(b *testing.B, players int) {
	s, conn := storetest.New(b, func(o *store.Options) { o.MaxConns = 24 })
	period := createLeague(b, s, "stars", scoreboard.League{
		Divisions: 5, CohortSize: 50, Min: 10, Promote: 10, Relegate: 5,
	})
	table := scoreboard.RewardTable{Board: "stars", Expires: time.Hour}
	for division := range 5 {
		table.Bands = append(table.Bands, scoreboard.RewardBand{Division: division + 1, Reward: "1"})
	}
	if _, err := s.Rewards.SetRewards(b.Context(), &table, nil); err != nil {
		b.Fatal(err)
	}
	nextSeason(b, s, "stars", 2)
	endWithMany(b, conn, period, players)
	ctx, stop := context.WithCancel(b.Context())
	var writing sync.WaitGroup
	var mu sync.Mutex
	var times []time.Duration
	began := time.Now()
	for w := range 10 {
		writing.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 84))
			for n := 0; ctx.Err() == nil; n++ {
				time.Sleep(time.Until(began.Add(time.Duration(n) * 20 * time.Millisecond)))
				user := scoreboard.UserID(fmt.Sprint("u", 1+r.IntN(players)))
				due := time.Now()
				_, err := s.Increments.Record(b.Context(), []scoreboard.Increment{
					increment(user, 1, fmt.Sprintf("b-%d-%d", w, n), "stars"),
				})
				if err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				times = append(times, time.Since(due))
				mu.Unlock()
			}
		})
	}
	decided := time.Now()
	moved, err := s.Leagues.DecideLeague(b.Context(), period, 2000, anyTime)
	took := time.Since(decided)
	if err != nil {
		b.Fatal(err)
	}
	granted, err := s.Rewards.GrantRewards(b.Context(), period, 5000, anyTime)
	all := time.Since(decided)
	stop()
	writing.Wait()
	if err != nil || granted != int64(players) {
		b.Fatalf("granted %d, %v", granted, err)
	}
	if n := conn.Count(b, `select count(*) from league_members where cohort_id is null`); n > 0 {
		b.Errorf("%d players wait", n)
	}
	bytes := conn.Count(b, `select sum(pg_total_relation_size(name::regclass))::bigint
from unnest(array['league_members', 'league_cohorts', 'league_divisions', 'league_outcomes']) as name`)
	b.ReportMetric(float64(bytes)/float64(players), "B/player")
	slices.Sort(times)
	b.ReportMetric(took.Seconds(), "s/decision")
	b.ReportMetric((all - took).Seconds(), "s/grants")
	b.ReportMetric(float64(moved), "moved")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(len(times))/all.Seconds(), "increments/s")
}
