package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// BenchmarkHotTeam records increments of the members of one team, in eight lanes of batches
// of 20: alone, with a process that computes the team beside them, and with the team's sum in
// the same transaction. An operation is one increment of a member.
func BenchmarkHotTeam(b *testing.B) {
	for _, way := range []string{"no team", "computed beside", "same transaction"} {
		b.Run(way, func(b *testing.B) {
			s, conn := storetest.New(b, func(o *store.Options) { o.MaxConns = 12 })
			createBoard(b, conn, "arena", "increment", "highest", 1, 1000)
			createBoard(b, conn, "sums", "increment", "highest", 1, 1000)
			const lanes, batch, members = 8, 20, 10_000
			if way == "computed beside" {
				rule := scoreboard.TeamRule{
					Source: "arena", Aggregate: scoreboard.AggregateSum, Moves: scoreboard.MovesWithPoints,
				}
				makeTeamBoard(b, s, "clans", rule)
				conn.Do(b, `insert into teams (board_id, team, members, memberships) values ('clans', 'hot', $1, $1)`,
					members)
				conn.Do(b, `insert into team_members (board_id, team, user_id, joined_at, joined_score)
select 'clans', 'hot', 'u' || n, clock_timestamp(), 0 from generate_series(0, $1 - 1) as n`, members)
			}
			ctx, stop := context.WithCancel(b.Context())
			var beside sync.WaitGroup
			passes := 0
			if way == "computed beside" {
				beside.Go(func() {
					for ctx.Err() == nil {
						if pass, err := s.Teams.Update(ctx, goOn); err == nil {
							passes += pass.Recorded
						}
						time.Sleep(200 * time.Millisecond)
					}
				})
			}
			b.ResetTimer()
			var all sync.WaitGroup
			for lane := range lanes {
				all.Go(func() {
					for n := lane * batch; n < b.N; n += lanes * batch {
						var items []scoreboard.Increment
						for i := n; i < n+batch; i++ {
							items = append(items, increment(scoreboard.UserID(fmt.Sprintf("u%d", i%members)), 1,
								fmt.Sprintf("e%d", i), "arena"))
							if way == "same transaction" {
								items = append(items, increment("team:hot", 1, fmt.Sprintf("e%d", i), "sums"))
							}
						}
						recordAll(b, s, items)
					}
				})
			}
			all.Wait()
			b.StopTimer()
			stop()
			beside.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "increments/s")
			if way == "computed beside" {
				b.ReportMetric(float64(passes)/b.Elapsed().Seconds(), "passes/s")
			}
		})
	}
}

// recordAll records items until none is locked by another transaction.
func recordAll(b *testing.B, s *store.Store, items []scoreboard.Increment) {
	for len(items) > 0 {
		outcomes, err := s.Increments.Record(b.Context(), items)
		if err != nil {
			if wire.CodeOf(err) == wire.CodeUnavailable {
				continue
			}
			b.Error(err)
			return
		}
		var left []scoreboard.Increment
		for i := range outcomes {
			if outcomes[i].Err != nil {
				left = append(left, items[i])
			}
		}
		items = left
	}
}
