package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A board of teams follows its members on every node, takes no increments, adjustments and
// imports of its own, and keeps its scores while it is frozen.
func TestTeams(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	one, two := h.start(allRoles), h.start("api,read,gateway")
	root := one.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	ctx := t.Context()
	rule := &client.TeamRule{Source: "global", Aggregate: "best", Best: 2, Moves: "with_points"}
	board, err := root.CreateBoard(ctx, client.BoardRequest{Board: "clans", Team: rule})
	if err != nil || board.Team == nil || *board.Team != *rule || board.Order != "highest" {
		t.Fatalf("got %+v, %v, want a board of teams", board, err)
	}
	for _, bad := range []client.BoardRequest{
		{Board: "x", Team: &client.TeamRule{Source: "nowhere", Aggregate: "sum", Moves: "from_now"}},
		{Board: "x", Team: &client.TeamRule{Source: "clans", Aggregate: "sum", Moves: "from_now"}},
		{Board: "x", Team: &client.TeamRule{Source: "global", Aggregate: "best", Moves: "from_now"}},
		{Board: "x", Team: &client.TeamRule{Source: "global", Aggregate: "median", Moves: "from_now"}},
		{Board: "x", Team: &client.TeamRule{Source: "global", Aggregate: "sum", Moves: "never"}},
		{Board: "x", Mode: "best", Team: rule},
		{Board: "x", Period: "daily", Team: rule},
	} {
		if _, err := root.CreateBoard(ctx, bad); err == nil {
			t.Errorf("%+v, %+v was created", bad, bad.Team)
		}
	}
	for user, points := range map[string]int64{"ada": 5, "bob": 9, "carol": 7, "dan": 8} {
		if _, err := root.Submit(ctx, client.Increment{User: user, Delta: points}); err != nil {
			t.Fatal(err)
		}
	}
	for user, team := range map[string]string{"ada": "ants", "bob": "ants", "carol": "ants", "dan": "bees"} {
		if m, err := root.JoinTeam(ctx, "clans", team, user); err != nil || m.Team != team || m.LeftAt != nil {
			t.Fatalf("got %+v, %v", m, err)
		}
	}
	standings := func(n *node) string {
		top, err := n.client("eve", "").Top(ctx, client.TopQuery{Board: "clans"})
		if err != nil {
			return err.Error()
		}
		var rows []string
		for _, e := range top.Entries {
			rows = append(rows, fmt.Sprintf("%d %s %d", e.Rank, e.UserID, e.Score))
		}
		return strings.Join(rows, ", ")
	}
	await := func(want string) {
		t.Helper()
		for _, n := range []*node{one, two} {
			h.await(want, func() bool { return standings(n) == want })
		}
	}
	await("1 team:ants 16, 2 team:bees 8")
	if _, err := root.JoinTeam(ctx, "clans", "bees", "bob"); err != nil {
		t.Fatal(err)
	}
	await("1 team:bees 17, 2 team:ants 12")
	if _, err := root.Ban(ctx, "dan", "test"); err != nil {
		t.Fatal(err)
	}
	await("1 team:ants 12, 2 team:bees 9")

	rejected := func(what string, err error, code wire.Code) {
		t.Helper()
		var e *client.Error
		if !errors.As(err, &e) || e.Code != code {
			t.Errorf("%s: got %v, want %s", what, err, code)
		}
	}
	_, err = root.Submit(ctx, client.Increment{User: "eve", Delta: 5, Board: "clans"})
	rejected("an increment", err, "rule_violated")
	_, err = root.Adjust(ctx, client.Adjustment{User: "ada", Board: "clans", Delta: 5, Reason: "test"})
	rejected("an adjustment", err, "rule_violated")
	_, err = root.JoinTeam(ctx, "global", "ants", "ada")
	rejected("a team of a board of users", err, "rule_violated")
	_, err = root.LeaveTeam(ctx, "clans", "ants", "dan")
	rejected("a user of another team", err, "not_found")
	_, err = one.client("eve", "").JoinTeam(ctx, "clans", "ants", "eve")
	rejected("a player", err, "forbidden")
	_, err = one.client("eve", "").TeamMembers(ctx, "clans", "ants", client.TeamMembersQuery{})
	rejected("a player who lists members", err, "forbidden")
	operator := one.client("olga", auth.ScopeOperate)
	if list, err := operator.Teams(ctx, "clans", client.TeamsQuery{}); err != nil || len(list.Teams) != 2 {
		t.Errorf("an operator lists %+v, %v", list, err)
	}
	if list, err := operator.TeamMembers(ctx, "clans", "ants", client.TeamMembersQuery{}); err != nil ||
		len(list.Members) == 0 {
		t.Errorf("an operator lists the members %+v, %v", list, err)
	}
	_, err = operator.JoinTeam(ctx, "clans", "ants", "eve")
	rejected("an operator", err, "forbidden")

	if _, err := root.FreezeBoard(ctx, "clans"); err != nil {
		t.Fatal(err)
	}
	_, err = root.JoinTeam(ctx, "clans", "ants", "dan")
	rejected("a frozen board", err, "board_closed")
	if _, err := root.Submit(ctx, client.Increment{User: "bob", Delta: 91}); err != nil {
		t.Fatal(err)
	}
	h.await("the change of a member behind the cursor", func() bool {
		return one.metric(t, "scoreboard_teams_age_seconds", "") < 1
	})
	await("1 team:ants 12, 2 team:bees 9")
	if _, err := root.UnfreezeBoard(ctx, "clans"); err != nil {
		t.Fatal(err)
	}
	await("1 team:bees 100, 2 team:ants 12")
	members, err := root.TeamMembers(ctx, "clans", "ants", client.TeamMembersQuery{History: true, Limit: 2})
	if err != nil || len(members.Members) != 2 || members.NextAfter == 0 {
		t.Errorf("got %+v, %v, want a page of two", members, err)
	}
	rest, err := root.TeamMembers(ctx, "clans", "ants",
		client.TeamMembersQuery{History: true, After: members.NextAfter})
	if err != nil || len(rest.Members) != 1 || rest.NextAfter != 0 {
		t.Errorf("got %+v, %v, want the last one", rest, err)
	}
	teams, err := root.Teams(ctx, "clans", client.TeamsQuery{})
	if err != nil || len(teams.Teams) != 2 || teams.Teams[0].Members != 2 || teams.Teams[0].UserID != "team:ants" {
		t.Errorf("got %+v, %v", teams, err)
	}
	if status, _, body := request(t, http.MethodGet, one.URL+"/v1/users/team:bees/rank?board=clans&k=1", "",
		bearer(h.token("eve", "", 3600e9))); status != http.StatusOK || !strings.Contains(body, `"rank":1`) {
		t.Errorf("the rank of a team: %d %s", status, body)
	}
}
