package repair_test

import (
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

// A team whose score is not what its members have is found, and repaired by an event of its
// own, so that ledger and score agree.
func TestVerifyFindsWrongTeams(t *testing.T) {
	t.Parallel()
	r := open(t)
	board, err := r.Boards.CreateBoard(ctx, &scoreboard.Board{
		ID: "clans", Period: scoreboard.PeriodNone, TimeZone: "UTC", WeekStart: time.Monday, Public: true,
		MinScore: -scoreboard.MaxScore, MaxScore: scoreboard.MaxScore, Team: &scoreboard.TeamRule{
			Source: "global", Aggregate: scoreboard.AggregateSum, Moves: scoreboard.MovesWithPoints,
		},
	}, nil, &scoreboard.AuditEntry{Actor: "op", Action: "board.create", Target: "board:clans"})
	if err != nil {
		t.Fatal(err)
	}
	r.record(t, 0, 4)
	for user, team := range map[scoreboard.UserID]scoreboard.Team{
		"user0": "ants", "user1": "ants", "user2": "bees", "user3": "cats",
	} {
		if _, err := r.Teams.Join(ctx, board.ID, team, user, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := r.Teams.Compute(ctx, board, []scoreboard.Team{"ants", "bees", "cats"}); err != nil || n != 3 {
		t.Fatalf("got %d, %v, want three scores", n, err)
	}
	r.board = *board
	r.rebuild(t)
	verify := func(fix bool, user scoreboard.UserID) *repair.VerifyResult {
		t.Helper()
		c := repair.Check{
			Store: r.Recovery, Teams: r.Teams, Ranking: r.ranking, CheckLedger: true, Repair: fix, User: user,
			Progress: func(*repair.VerifyResult) {},
		}
		v, err := c.Run(ctx, []scoreboard.Board{*board})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := verify(false, ""); v.DifferenceCount != 0 {
		t.Fatalf("got %+v, want no differences", v.Differences)
	}
	// A point lost with its ledger row, one doubled, and a team that has lost its members.
	r.conn.Do(t, `update user_score_histories set delta = delta - 1, applied = applied - 1, new_score = new_score - 1
where user_id = 'team:ants'`)
	r.conn.Do(t, `update scores set score = score - 1, order_key = order_key + 1 where user_id = 'team:ants'`)
	r.conn.Do(t, `update user_score_histories set delta = 2 * delta, applied = 2 * applied, new_score = 2 * new_score
where user_id = 'team:bees'`)
	r.conn.Do(t, `update scores set score = 2 * score, order_key = 2 * order_key where user_id = 'team:bees'`)
	r.conn.Do(t, `delete from team_members where team = 'cats'`)
	r.rebuild(t)
	if v := verify(false, "team:ants"); v.DifferenceCount != 1 {
		t.Errorf("one team: got %+v, want one difference", v.Differences)
	}
	v := verify(true, "")
	var got []string
	for _, d := range v.Differences {
		got = append(got, string(d.User)+" "+d.Kind)
	}
	if strings.Join(got, ", ") != "team:ants team, team:bees team, team:cats team" || v.Repaired != 3 {
		t.Fatalf("got %v, %d repaired, want three", got, v.Repaired)
	}
	r.rebuild(t)
	if v := verify(false, ""); v.DifferenceCount != 0 {
		t.Errorf("after the repair: got %+v, want no differences", v.Differences)
	}
}
