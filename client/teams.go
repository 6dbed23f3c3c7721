package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Teams, as the server sends them.
type (
	// TeamRule says how a board of teams computes the score of a team.
	TeamRule = wire.TeamRule
	// Team is a team of a board.
	Team = wire.Team
	// Teams is a page of them.
	Teams = wire.Teams
	// TeamMember is a time during which a user was a member of a team.
	TeamMember = wire.TeamMember
	// TeamMembers is a page of them.
	TeamMembers = wire.TeamMembers
)

func pathTeams(board string) string { return "/v1/boards/" + url.PathEscape(board) + "/teams" }

func pathMembers(board, team string) string {
	return pathTeams(board) + "/" + url.PathEscape(team) + "/members"
}

// JoinTeam makes a user a member of a team of a board, and ends the membership of another
// team. It needs the scope score:update.
func (c *Client) JoinTeam(ctx context.Context, board, team, user string) (TeamMember, error) {
	var m TeamMember
	err := c.do(ctx, call{
		op: "add " + user + " to team " + team, method: http.MethodPut,
		path: pathMembers(board, team) + "/" + url.PathEscape(user),
	}, &m)
	return m, err
}

// LeaveTeam ends a user's membership of a team. It needs the scope score:update.
func (c *Client) LeaveTeam(ctx context.Context, board, team, user string) (TeamMember, error) {
	var m TeamMember
	err := c.do(ctx, call{
		op: "remove " + user + " from team " + team, method: http.MethodDelete,
		path: pathMembers(board, team) + "/" + url.PathEscape(user),
	}, &m)
	return m, err
}

// TeamsQuery are the parameters of a list of teams.
type TeamsQuery struct {
	After string // NextAfter of the previous page
	Limit int    // 1 to 1000; 0 is 100
}

// Teams lists the teams of a board, by name. It needs the scope score:update.
func (c *Client) Teams(ctx context.Context, board string, q TeamsQuery) (Teams, error) {
	query := url.Values{}
	if q.After != "" {
		query.Set("after", q.After)
	}
	if q.Limit != 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	var page Teams
	err := c.do(ctx, call{op: "list teams", method: http.MethodGet, path: pathTeams(board), query: query}, &page)
	return page, err
}

// TeamMembersQuery are the parameters of a list of members.
type TeamMembersQuery struct {
	History bool  // with memberships that have ended
	After   int64 // NextAfter of the previous page
	Limit   int   // 1 to 1000; 0 is 100
}

// TeamMembers lists the members of a team, in the order of joining. It needs the scope
// score:update.
func (c *Client) TeamMembers(ctx context.Context, board, team string, q TeamMembersQuery) (TeamMembers, error) {
	query := url.Values{}
	if q.History {
		query.Set("history", "1")
	}
	if q.After != 0 {
		query.Set("after", strconv.FormatInt(q.After, 10))
	}
	if q.Limit != 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	var page TeamMembers
	err := c.do(ctx, call{
		op: "list the members of team " + team, method: http.MethodGet, path: pathMembers(board, team), query: query,
	}, &page)
	return page, err
}
