package leaderboard

import (
	"context"
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// LeaguePlaces finds players in leagues.
type LeaguePlaces interface {
	// Member returns where a user is in a period of a league.
	Member(ctx context.Context, period scoreboard.BoardID, user scoreboard.UserID) (scoreboard.LeagueMember, error)
	// Unplaced returns those of users who have no cohort in a period of a league.
	Unplaced(
		ctx context.Context, period scoreboard.BoardID, users []scoreboard.UserID,
	) ([]scoreboard.UserID, error)
	// Cohort returns a cohort of a period, or a not_found.
	Cohort(ctx context.Context, period scoreboard.BoardID, id int64) (*scoreboard.Cohort, error)
}

// Cohorts reads standings of players within their cohorts.
type Cohorts struct {
	leaderboard *Leaderboard
	places      LeaguePlaces
}

// NewCohorts returns a Cohorts that reads standings as l does.
func NewCohorts(l *Leaderboard, places LeaguePlaces) *Cohorts { return &Cohorts{l, places} }

// CohortOn returns the standings of the members of a cohort, with ranks within it and the number of
// members with a standing as the total. Users other than except are shown as on the board: hidden ones
// under a pseudonym, and banned and private ones not at all.
func (c *Cohorts) CohortOn(
	ctx context.Context, board *scoreboard.Board, members []scoreboard.UserID, except scoreboard.UserID,
) (*scoreboard.List, error) {
	list, err := c.standings(ctx, board, members)
	if err != nil {
		return nil, err
	}
	c.leaderboard.Display.Show(ctx, board.ID, list.Entries, except)
	return list, nil
}

// standings is CohortOn with hidden users as themselves.
func (c *Cohorts) standings(
	ctx context.Context, board *scoreboard.Board, members []scoreboard.UserID,
) (*scoreboard.List, error) {
	l := c.leaderboard
	list, err := l.list(ctx, board, slices.DeleteFunc(slices.Clone(members), l.private))
	if err != nil {
		return nil, err
	}
	out := *list
	out.Entries, out.Total = slices.Clone(list.Entries), int64(len(list.Entries))
	for i := range out.Entries {
		out.Entries[i].Rank = int64(i) + 1
	}
	if board.SharesRanks() {
		scoreboard.ShareRanks(out.Entries, 1)
	}
	return &out, nil
}

// ReadCohort returns the cohort of a user in the current period of a league, as everyone sees it, with what its hidden
// members see of themselves.
func (c *Cohorts) ReadCohort(
	ctx context.Context, id scoreboard.BoardID, user scoreboard.UserID,
) (*scoreboard.CohortList, error) {
	board, err := c.period(ctx, id)
	if err != nil {
		return nil, err
	}
	m, err := c.places.Member(ctx, board.ID, user)
	if err != nil {
		return nil, err
	}
	if m.State != scoreboard.LeaguePlaced {
		return scoreboard.NoCohort(board.ID, user, time.Now()), nil
	}
	cohort, err := c.places.Cohort(ctx, board.ID, m.Cohort)
	if err != nil {
		return nil, err
	}
	list, err := c.standings(ctx, board, cohort.Members)
	if err != nil {
		return nil, err
	}
	own := slices.Clone(list.Entries)
	c.leaderboard.Display.Show(ctx, board.ID, list.Entries, "")
	out := &scoreboard.CohortList{List: *list, Cohort: m.Cohort, Division: m.Division, Members: cohort.Members}
	for i := range own {
		if list.Entries[i].Hidden() {
			if out.Own == nil {
				out.Own = make(map[scoreboard.UserID]scoreboard.Entry)
			}
			out.Own[own[i].User] = own[i]
		}
	}
	return out, nil
}

// WithoutCohort returns the current period of a league, and those of users who have no cohort in it.
func (c *Cohorts) WithoutCohort(
	ctx context.Context, id scoreboard.BoardID, users []scoreboard.UserID,
) (period scoreboard.BoardID, none []scoreboard.UserID, err error) {
	board, err := c.period(ctx, id)
	if err != nil {
		return "", nil, err
	}
	none, err = c.places.Unplaced(ctx, board.ID, users)
	return board.ID, none, err
}

// period returns the current period of a league.
func (c *Cohorts) period(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	board, err := c.leaderboard.Catalog.Board(ctx, id)
	if err != nil {
		return nil, err
	}
	if board.League == nil {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "board %s is not a league", board.Family)
	}
	return board, nil
}
