package api

import (
	"context"
	"math"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Teams stores the memberships of teams, with their times.
type Teams interface {
	// Join makes a user a member of a team, and ends the membership of another team. why is the
	// audit entry of an operator's change, else nil.
	Join(
		ctx context.Context, board scoreboard.BoardID, team scoreboard.Team, user scoreboard.UserID,
		why *scoreboard.AuditEntry,
	) (*scoreboard.TeamMembership, error)
	// Leave ends a membership; not_found if the user never was a member. why is as in Join.
	Leave(
		ctx context.Context, board scoreboard.BoardID, team scoreboard.Team, user scoreboard.UserID,
		why *scoreboard.AuditEntry,
	) (*scoreboard.TeamMembership, error)
	// List returns up to limit teams, by name, after a name.
	List(
		ctx context.Context, board scoreboard.BoardID, after scoreboard.Team, limit int,
	) ([]scoreboard.TeamSummary, error)
	// Members returns up to limit memberships, oldest first, after one of them.
	Members(
		ctx context.Context, board scoreboard.BoardID, team scoreboard.Team, history bool, after int64, limit int,
	) ([]scoreboard.TeamMembership, error)
}

// The bounds of a page of teams or members.
const defaultTeams, maxTeams = 100, 1000

type membershipChange func(
	context.Context, scoreboard.BoardID, scoreboard.Team, scoreboard.UserID, *scoreboard.AuditEntry,
) (*scoreboard.TeamMembership, error)

// teams shows and changes the members of teams.
type teams struct {
	store Teams
}

// joinTeam is PUT /v1/boards/{board}/teams/{team}/members/{user_id}.
func (h *teams) joinTeam(c *gin.Context, caller *auth.Claims) error {
	if err := decodeNothing(c); err != nil {
		return err
	}
	return changeMembership(c, caller, scoreboard.ParseClientUserID, h.store.Join)
}

// leaveTeam is DELETE /v1/boards/{board}/teams/{team}/members/{user_id}.
func (h *teams) leaveTeam(c *gin.Context, caller *auth.Claims) error {
	return changeMembership(c, caller, scoreboard.ParseUserID, h.store.Leave)
}

// changeMembership changes the membership in the path, and answers with it.
func changeMembership(
	c *gin.Context, caller *auth.Claims, parse func(string) (scoreboard.UserID, error), change membershipChange,
) error {
	board, team, err := teamOfPath(c)
	if err != nil {
		return err
	}
	user, err := parse(c.Param("user_id"))
	if err != nil {
		return err
	}
	why := operatorsEntry(c, caller, scoreboard.AuditUser(user), map[string]any{"board": board, "team": team})
	m, err := change(c.Request.Context(), board, team, user, why)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, memberJSON(m))
	return nil
}

// teamOfPath returns the board and the team in the path.
func teamOfPath(c *gin.Context) (board scoreboard.BoardID, team scoreboard.Team, err error) {
	if board, err = scoreboard.ParseBoardID(c.Param("board")); err == nil {
		team, err = scoreboard.ParseTeam(c.Param("team"))
	}
	return board, team, err
}

func memberJSON(m *scoreboard.TeamMembership) wire.TeamMember {
	out := wire.TeamMember{
		Board: string(m.Board), Team: string(m.Team), UserID: string(m.User), JoinedAt: m.Joined,
		JoinedScore: int64(m.JoinedScore), LeftAt: timePtr(m.Left),
	}
	if !m.Left.IsZero() {
		out.LeftScore = new(int64(m.LeftScore))
	}
	return out
}

// listTeams is GET /v1/boards/{board}/teams.
func (h *teams) listTeams(c *gin.Context, _ *auth.Claims) error {
	board, err := scoreboard.ParseBoardID(c.Param("board"))
	if err != nil {
		return err
	}
	limit, err := queryInt(c, "limit", defaultTeams, 1, maxTeams)
	if err != nil {
		return err
	}
	var after scoreboard.Team
	if text := c.Query("after"); text != "" {
		if after, err = scoreboard.ParseTeam(text); err != nil {
			return scoreboard.Invalid("after", "after must be the next_after of a page")
		}
	}
	teams, err := h.store.List(c.Request.Context(), board, after, limit+1)
	if err != nil {
		return err
	}
	out := wire.Teams{Teams: []wire.Team{}}
	if len(teams) > limit {
		teams = teams[:limit]
		out.NextAfter = string(teams[limit-1].Team)
	}
	for _, t := range teams {
		out.Teams = append(out.Teams, wire.Team{
			Team: string(t.Team), UserID: string(t.Team.User()), Members: t.Members, CreatedAt: t.Created,
		})
	}
	respond(c, http.StatusOK, out)
	return nil
}

// listMembers is GET /v1/boards/{board}/teams/{team}/members.
func (h *teams) listMembers(c *gin.Context, _ *auth.Claims) error {
	board, team, err := teamOfPath(c)
	if err != nil {
		return err
	}
	limit, err := queryInt(c, "limit", defaultTeams, 1, maxTeams)
	if err != nil {
		return err
	}
	after, err := queryInt(c, "after", 0, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	history, err := queryFlag(c, "history")
	if err != nil {
		return err
	}
	members, err := h.store.Members(c.Request.Context(), board, team, history, int64(after), limit+1)
	if err != nil {
		return err
	}
	out := wire.TeamMembers{Members: []wire.TeamMember{}}
	if len(members) > limit {
		members = members[:limit]
		out.NextAfter = members[limit-1].ID
	}
	for i := range members {
		out.Members = append(out.Members, memberJSON(&members[i]))
	}
	respond(c, http.StatusOK, out)
	return nil
}
