package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// rewardDifferences are those of a period, as text, with the number of grants that were compared.
func rewardDifferences(
	t *testing.T, s *store.Store, id scoreboard.BoardID, user scoreboard.UserID, size int,
) (found []string, compared int64) {
	t.Helper()
	b, err := s.Boards.FindBoard(t.Context(), id)
	if err == nil {
		compared, err = s.Rewards.CheckRewards(t.Context(), b, user, size,
			func(some []scoreboard.RewardDifference) error {
				if len(some) > size {
					t.Errorf("%d differences at once, want at most %d", len(some), size)
				}
				for _, d := range some {
					found = append(found, fmt.Sprintf("%s %s rank %d band %d", d.Kind, d.User, d.Rank, d.Want))
				}
				return nil
			})
	}
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found, compared
}

// What is missing, wrong or too much among the grants of a period is found, and nothing else: neither the grants of
// operators nor what was taken back, and not users who were banned or on no board when the rewards were granted.
func TestRewardsAreComparedWithStandings(t *testing.T) {
	t.Parallel()
	for _, private := range []bool{false, true} {
		t.Run(fmt.Sprint("private ", private), func(t *testing.T) {
			t.Parallel()
			s, conn := storetest.New(t)
			scores := map[scoreboard.UserID]int64{"low": 1}
			for i := range 30 {
				scores[scoreboard.UserID(fmt.Sprintf("u%02d", i))] = int64(900 - i)
			}
			id := cup(t, s, "cup", scoreboard.OrderHighest, nil, scores)
			setRewards(t, s, scoreboard.RewardTable{
				Board: "cup", Private: private, Bands: []scoreboard.RewardBand{
					{FirstRank: 1, LastRank: 3, Reward: "1"}, {FirstRank: 1, LastRank: 20, Reward: "2"},
				},
			})
			hide := func(user scoreboard.UserID, to scoreboard.Visibility) {
				t.Helper()
				if _, _, err := s.Visibility.Put(t.Context(), user, to, nil); err != nil {
					t.Fatal(err)
				}
			}
			hide("u05", scoreboard.VisibilityPrivate) // has no place
			for _, user := range []scoreboard.UserID{"u07", "u08"} {
				if _, err := s.Moderation.Ban(t.Context(), user, because("user.ban", user)); err != nil {
					t.Fatal(err)
				}
			}
			endCup(t, s, conn, id)
			if got, n := rewardDifferences(t, s, id, "", 7); got != nil || n != 0 {
				t.Errorf("before rewards are granted: %d compared, %v", n, got)
			}
			if _, err := s.Rewards.GrantRewards(t.Context(), id, 4, anyTime); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Moderation.Unban(t.Context(), "u07", because("user.unban", "u07")); err != nil {
				t.Fatal(err)
			}
			hide("u05", scoreboard.VisibilityPublic)
			if _, err := s.Privacy.BeginErasure(t.Context(), "u09", because("user.erase", "u09")); err != nil {
				t.Fatal(err)
			}
			operators := &scoreboard.RewardGrant{Board: id, User: "low", Reward: "3"}
			if _, err := s.Rewards.Grant(t.Context(), operators, time.Hour, because("reward.grant",
				"low")); err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{1, 7, 5000} {
				if got, n := rewardDifferences(t, s, id, "", size); got != nil || n < 16 || n > 20 {
					t.Errorf("pages of %d: %d compared, %v, want none", size, n, got)
				}
			}
			run := func(damage string, args ...any) {
				t.Helper()
				conn.Do(t, damage, append([]any{id}, args...)...)
			}
			rank := func(user string) int64 {
				return conn.Count(t, `select coalesce(sum(rank), 0) from board_standings
    where board_id = $1 and user_id = $2`, id, user)
			}
			run(`delete from reward_grants where board_id = $1 and user_id in ('u01', 'u10')`)
			run(`update reward_grants set band = 1 where board_id = $1 and user_id = 'u11'`)
			run(`update reward_grants set rank = rank + 1 where board_id = $1 and user_id = 'u00'`)
			run(`insert into reward_grants (board_id, user_id, rank, table_id, band, revision, granted_at, expires_at)
select board_id, 'u29', 12, table_id, 2, 1, now(), now() + interval '1 day' from reward_runs where board_id = $1`)
			want := []string{
				fmt.Sprintf("reward_extra u29 rank %d band 0", rank("u29")),
				fmt.Sprintf("reward_missing u01 rank %d band 1", rank("u01")),
				fmt.Sprintf("reward_missing u10 rank %d band 2", rank("u10")),
				fmt.Sprintf("reward_wrong u00 rank %d band 1", rank("u00")),
				fmt.Sprintf("reward_wrong u11 rank %d band 2", rank("u11")),
			}
			for _, size := range []int{1, 7, 5000} {
				if got, _ := rewardDifferences(t, s, id, "", size); !slices.Equal(got, want) {
					t.Errorf("pages of %d: got %q, want %q", size, got, want)
				}
			}
			if got, n := rewardDifferences(t, s, id, "u11", 7); !slices.Equal(got, want[4:]) || n != 1 {
				t.Errorf("u11 alone: %d compared, got %q, want %q", n, got, want[4:])
			}
			if private { // of a user without a place in the standings
				run(`update reward_grants set rank = 1, band = 1 where board_id = $1 and user_id = 'u05'`)
				if got, _ := rewardDifferences(t, s, id, "u05", 7); len(got) != 1 ||
					got[0] != "reward_wrong u05 rank 6 band 2" {
					t.Errorf("u05: got %q", got)
				}
				run(`delete from reward_grants where board_id = $1 and user_id = 'u05'`)
				if got, _ := rewardDifferences(t, s, id, "", 7); !slices.Contains(got,
					"reward_missing u05 rank 6 band 2") {
					t.Errorf("got %q, want u05", got)
				}
			}
			conn.Do(t, `update reward_tables set since = since - interval '1 day'`)
			conn.Do(t, `insert into reward_tables (board_id, since, private, expires_seconds)
values ('cup', now() - interval '12 hours', false, 60)`)
			if got, _ := rewardDifferences(t, s, id, "nobody", 7); len(got) != 1 || got[0][:12] != "reward_table" {
				t.Errorf("got %q, want another table", got)
			}
		})
	}
}
