package scoreboard

import (
	"strings"
	"time"
)

// TeamRule says how a board of teams computes the score of a team from the scores that its
// members have on the source board.
type TeamRule struct {
	Source    BoardID // without periods; not a board of teams
	Aggregate Aggregate
	Best      int // with AggregateBest: how many members count
	Moves     TeamMoves
}

// Aggregate is how the scores of members become the score of a team.
type Aggregate string

// The aggregates.
const (
	AggregateSum     Aggregate = "sum"
	AggregateAverage Aggregate = "average" // rounded to the nearest integer, halves away from 0
	AggregateBest    Aggregate = "best"    // the sum of the best Best
)

// TeamMoves is what happens to a user's points when the user joins or leaves a team.
type TeamMoves string

// The rules for moves.
const (
	// MovesFromNow: what a user gains while a member counts for the team, also after the user
	// has left it.
	MovesFromNow TeamMoves = "from_now"
	// MovesWithPoints: the whole score of a user counts for the team that the user is in.
	MovesWithPoints TeamMoves = "with_points"
)

// The bounds of teams.
const (
	MaxTeamMembers     = 10_000 // of one team, at a time
	MaxTeamMemberships = 50_000 // of one team, with those that have left
	MaxUserMemberships = 1000   // of one user on one board of teams
	MaxTeamBoards      = 10     // over one source board
	MaxBestMembers     = 1000   // TeamRule.Best
)

// Team is the name of a team, unique on its board: [a-z0-9][a-z0-9_.-]{0,47}.
type Team string

// ParseTeam checks s and returns it as a Team, or an invalid_request.
func ParseTeam(s string) (Team, error) {
	if !isBoardName(s) {
		return "", Invalid("team", "team must match [a-z0-9][a-z0-9_.-]{0,47}")
	}
	return Team(s), nil
}

// User is the user id whose score on a board of teams is the team's.
func (t Team) User() UserID { return UserID(teamUsers + string(t)) }

// TeamOf returns the team whose score on a board of teams is that of a user.
func TeamOf(user UserID) Team {
	name, _ := strings.CutPrefix(string(user), teamUsers)
	return Team(name)
}

// Check validates a rule before its board is created. It returns an invalid_request.
func (r *TeamRule) Check() error {
	if id, err := ParseBoardID(string(r.Source)); err != nil || id.IsInstance() {
		return Invalid("team.source", "team.source must be the name of a board")
	}
	switch r.Aggregate {
	case AggregateBest:
		if r.Best < 1 || r.Best > MaxBestMembers {
			return Invalid("team.best", "team.best must be 1 to %d members", MaxBestMembers)
		}
	case AggregateSum, AggregateAverage:
		if r.Best != 0 {
			return Invalid("team.best", "team.best is for the aggregate best")
		}
	default:
		return Invalid("team.aggregate", "team.aggregate must be sum, average or best")
	}
	switch r.Moves {
	case MovesFromNow, MovesWithPoints:
		return nil
	}
	return Invalid("team.moves", "team.moves must be from_now or with_points")
}

// CheckSource validates the board that a board of teams is to read. It returns an
// invalid_request.
func (r *TeamRule) CheckSource(source *Board) error {
	switch {
	case source.Team != nil:
		return Invalid("team.source", "board %s ranks teams; the source must rank users", source.ID)
	case source.Period != PeriodNone:
		return Invalid("team.source", "board %s has periods; the source must be a board without", source.ID)
	case source.Status != StatusActive:
		return Invalid("team.source", "board %s is %s", source.ID, source.Status)
	case r.Moves == MovesFromNow && source.Mode != ModeIncrement:
		return Invalid("team.moves", "from_now requires a source in mode increment; board %s has mode %s",
			source.ID, source.Mode)
	}
	return nil
}

// TeamMembership is a time during which a user was a member of a team.
type TeamMembership struct {
	ID          int64
	Board       BoardID
	Team        Team
	User        UserID
	Joined      time.Time
	JoinedScore Score     // of the user on the source board; 0 without one
	Left        time.Time // zero: is a member
	LeftScore   Score
}

// TeamSummary is a team with the number of its members.
type TeamSummary struct {
	Team    Team
	Members int
	Created time.Time
}

// TeamDifference is a team whose score is not what its members have.
type TeamDifference struct {
	Team      Team
	Version   int64  // of the team's score; 0: it never had one
	Got, Want *Score // nil: none
}

// TeamPass is what one pass over the changes has done to scores of teams.
type TeamPass struct {
	Recorded int       // scores
	At       time.Time // what was committed before is in the scores of teams
	All      bool      // all teams were compared
	More     bool      // there is more to do at once
}
