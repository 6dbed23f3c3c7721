package leaderboard

import (
	"context"
	"slices"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Cohorts reads standings of players within their cohorts.
type Cohorts struct{ leaderboard *Leaderboard }

// NewCohorts returns a Cohorts that reads standings as l does.
func NewCohorts(l *Leaderboard) *Cohorts { return &Cohorts{l} }

// CohortOn returns the standings of the members of a cohort, with ranks within it and the number of
// members with a standing as the total. Users other than except are shown as on the board: hidden ones
// under a pseudonym, and banned and private ones not at all.
func (c *Cohorts) CohortOn(
	ctx context.Context, board *scoreboard.Board, members []scoreboard.UserID, except scoreboard.UserID,
) (*scoreboard.List, error) {
	l := c.leaderboard
	list, err := l.list(ctx, board, slices.DeleteFunc(slices.Clone(members), l.private))
	if err != nil {
		return nil, err
	}
	out := *list
	out.Entries, out.Missing, out.Total = slices.Clone(list.Entries), nil, int64(len(list.Entries))
	for i := range out.Entries {
		out.Entries[i].Rank = int64(i) + 1
	}
	l.Display.Show(ctx, board.ID, out.Entries, except)
	return &out, nil
}
