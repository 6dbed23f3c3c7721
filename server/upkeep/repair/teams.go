package repair

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Teams is the store with the scores of teams and their members.
type Teams interface {
	// Differences compares the next teams of a board after a name, and returns those whose
	// score is not what their members have, and the last one compared; "" after the last page.
	Differences(
		ctx context.Context, board *scoreboard.Board, after scoreboard.Team, limit int,
	) (found []scoreboard.TeamDifference, last scoreboard.Team, err error)
	// Compare compares some teams.
	Compare(
		ctx context.Context, board *scoreboard.Board, teams []scoreboard.Team,
	) ([]scoreboard.TeamDifference, error)
	// Compute records the scores of teams where they are not what the members have.
	Compute(ctx context.Context, board *scoreboard.Board, teams []scoreboard.Team) (recorded int, err error)
}

// teamDelay is how long a difference must last to count: scores of teams are a moment behind
// those of their members. A team that changes meanwhile is not wrong: it is computed from
// all of its members then.
const teamDelay = 2 * time.Second

// teamPage is how many teams are compared at once.
const teamPage = 100

// checkTeams compares the scores of teams with those of their members. A board that accepts
// no writes keeps the scores that it had.
func (c *Check) checkTeams(ctx context.Context, board *scoreboard.Board, v *VerifyResult) error {
	if c.Teams == nil || board.Team == nil || board.Status != scoreboard.StatusActive {
		return nil
	}
	if c.User != "" {
		team := scoreboard.TeamOf(c.User)
		if team.User() != c.User {
			return nil
		}
		found, err := c.Teams.Compare(ctx, board, []scoreboard.Team{team})
		if err == nil {
			err = c.confirmTeams(ctx, board, found, v)
		}
		return err
	}
	for after := scoreboard.Team(""); ; {
		found, last, err := c.Teams.Differences(ctx, board, after, teamPage)
		if err == nil {
			err = c.confirmTeams(ctx, board, found, v)
		}
		if err != nil || last == "" {
			return err
		}
		after = last
	}
}

// confirmTeams reports differences that last, and has them repaired.
func (c *Check) confirmTeams(
	ctx context.Context, board *scoreboard.Board, found []scoreboard.TeamDifference, v *VerifyResult,
) error {
	if len(found) == 0 {
		return nil
	}
	select {
	case <-time.After(teamDelay):
	case <-ctx.Done():
		return ctx.Err()
	}
	teams := make([]scoreboard.Team, len(found))
	for i := range found {
		teams[i] = found[i].Team
	}
	still, err := c.Teams.Compare(ctx, board, teams)
	if err != nil {
		return err
	}
	teams = teams[:0]
	for i := range still {
		d := &still[i]
		if !slices.ContainsFunc(found, func(f scoreboard.TeamDifference) bool {
			return f.Team == d.Team && f.Version == d.Version && equal(f.Want, d.Want)
		}) {
			continue
		}
		v.add(Difference{
			Board: board.ID, User: d.Team.User(), Kind: "team",
			Detail: fmt.Sprintf("the members have %s, the score is %s", scoreText(d.Want), scoreText(d.Got)),
		})
		teams = append(teams, d.Team)
	}
	if !c.Repair || len(teams) == 0 {
		return nil
	}
	n, err := c.Teams.Compute(ctx, board, teams)
	v.Repaired += int64(n)
	return err
}

func equal(a, b *scoreboard.Score) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func scoreText(s *scoreboard.Score) string {
	if s == nil {
		return "none"
	}
	return strconv.FormatInt(int64(*s), 10)
}
