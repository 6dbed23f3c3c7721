package repair

import (
	"context"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Ledger is the store with what its scores are made of.
type Ledger interface {
	States
	Standings(ctx context.Context, board scoreboard.BoardID, size int, do func([]scoreboard.Change) error) error
	Audit(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID, size int, do func([]scoreboard.Audit) error) error
}

// RankedUsers is the ranking as verify reads it.
type RankedUsers interface {
	Kept
	Users(ctx context.Context, board scoreboard.BoardID, do func([]scoreboard.UserID) error) error
	// Strays lists entries of the sorted set that belong to no state, and
	// Remove takes one out if it is still one.
	OrphanedMembers(ctx context.Context, board scoreboard.BoardID, do func([]scoreboard.OrphanedMember) error) error
	Remove(ctx context.Context, board scoreboard.BoardID, s scoreboard.OrphanedMember) (bool, error)
}

// Difference is one thing that should not be.
type Difference struct {
	Board  scoreboard.BoardID
	User   scoreboard.UserID
	Kind   string
	Detail string
}

// maxDifferences is how many are kept; all are counted.
const maxDifferences = 1000

// Verified says what was looked at, and what is wrong.
type Verified struct {
	Users, Rows int64
	Wrong       int64 // differences, more perhaps than are listed
	Mended      int64
	Differences []Difference
	Took        time.Duration
}

func (v *Verified) differ(d Difference) {
	v.Wrong++
	if len(v.Differences) < maxDifferences {
		v.Differences = append(v.Differences, d)
	}
}

// Check is one verification: of boards, of one user where User is set.
// Without the ledger only the ranking is compared. Mend puts the truth in the
// place of what is wrong in the ranking; the ledger is never touched.
type Check struct {
	Ledger   Ledger
	Ranking  RankedUsers
	User     scoreboard.UserID
	Rows     bool // look at the ledger, too
	Mend     bool
	Progress func(*Verified)
}

// Run checks boards, in memory that does not grow with them.
func (c *Check) Run(ctx context.Context, boards []scoreboard.Board) (*Verified, error) {
	started := time.Now()
	v := &Verified{}
	for i := range boards {
		if err := c.board(ctx, boards[i].ID, v); err != nil {
			return nil, fmt.Errorf("verify board %s: %w", boards[i].ID, err)
		}
	}
	v.Took = time.Since(started)
	return v, nil
}

func (c *Check) board(ctx context.Context, board scoreboard.BoardID, v *Verified) error {
	before := v.Users
	if err := c.everybody(ctx, board, v); err != nil || c.User != "" && v.Users > before {
		return err
	}
	if c.User != "" { // has no score, and must have no rank
		return c.compare(ctx, board, []scoreboard.UserID{c.User}, nil, v)
	}
	// Whoever the ranking has and the store has not was in none of these.
	err := c.Ranking.Users(ctx, board, func(users []scoreboard.UserID) error {
		known, err := c.Ledger.States(ctx, board, users)
		if err != nil || len(known) == len(users) {
			return err
		}
		return c.compare(ctx, board, strangers(users, known), nil, v)
	})
	if err != nil {
		return err
	}
	return c.Ranking.OrphanedMembers(ctx, board, func(strays []scoreboard.OrphanedMember) error { return c.strays(ctx, board, strays, v) })
}

// everybody compares all who have a score, or the one user. The ledger is only
// read where it is asked for: it is long.
func (c *Check) everybody(ctx context.Context, board scoreboard.BoardID, v *Verified) error {
	if c.Rows {
		return c.Ledger.Audit(ctx, board, c.User, chunk, func(audits []scoreboard.Audit) error {
			changes := make([]scoreboard.Change, len(audits))
			for i := range audits {
				changes[i] = audits[i].Change
				v.Rows += audits[i].Rows
				ledger(&audits[i], v)
			}
			return c.chunk(ctx, board, changes, v)
		})
	}
	if c.User == "" {
		return c.Ledger.Standings(ctx, board, chunk, func(changes []scoreboard.Change) error { return c.chunk(ctx, board, changes, v) })
	}
	one, err := c.Ledger.States(ctx, board, []scoreboard.UserID{c.User})
	if err != nil || len(one) == 0 {
		return err
	}
	return c.chunk(ctx, board, one, v)
}

func (c *Check) chunk(ctx context.Context, board scoreboard.BoardID, changes []scoreboard.Change, v *Verified) error {
	users := make([]scoreboard.UserID, len(changes))
	for i := range changes {
		users[i] = changes[i].User
	}
	v.Users += int64(len(users))
	if err := c.compare(ctx, board, users, changes, v); err != nil {
		return err
	}
	c.Progress(v)
	return nil
}

// strays are wrong as they stand: entry and state change in one step.
func (c *Check) strays(ctx context.Context, board scoreboard.BoardID, strays []scoreboard.OrphanedMember, v *Verified) error {
	for _, s := range strays {
		v.differ(Difference{Board: board, User: s.User, Kind: "stray", Detail: "the sorted set has an entry that belongs to no state"})
		if !c.Mend {
			continue
		}
		removed, err := c.Ranking.Remove(ctx, board, s)
		if err != nil {
			return err
		}
		if removed {
			v.Mended++
		}
	}
	return nil
}

func strangers(users []scoreboard.UserID, known []scoreboard.Change) []scoreboard.UserID {
	in := make(map[scoreboard.UserID]bool, len(known))
	for i := range known {
		in[known[i].User] = true
	}
	var left []scoreboard.UserID
	for _, u := range users {
		if !in[u] {
			left = append(left, u)
		}
	}
	return left
}

// ledger checks that a score is what its ledger adds up to.
func ledger(a *scoreboard.Audit, v *Verified) {
	d := Difference{Board: a.Board, User: a.User}
	switch {
	case a.Revision == 0:
		d.Kind, d.Detail = "no_score", fmt.Sprintf("%d ledger rows, no score", a.Rows)
	case a.Rows == 0 && a.Archived:
		return // with all of its rows
	case a.Rows == 0 && a.Version == 0 && a.Hidden:
		return // the tombstone of an erased user
	case a.Rows == 0:
		d.Kind, d.Detail = "no_ledger", fmt.Sprintf("score %d at version %d, no ledger rows", a.Score, a.Version)
	case a.Last != a.Version || a.Last-a.First+1 != a.Rows:
		d.Kind, d.Detail = "version_gap", fmt.Sprintf("%d ledger rows from version %d to %d, the score has version %d", a.Rows, a.First, a.Last, a.Version)
	case a.Expected != int64(a.Score):
		d.Kind, d.Detail = "sum", fmt.Sprintf("the ledger adds up to %d, the score is %d", a.Expected, a.Score)
	default:
		return
	}
	v.differ(d)
}

// compare checks users against the ranking; those that look wrong at once are
// looked at again until they settle.
func (c *Check) compare(ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID, changes []scoreboard.Change, v *Verified) error {
	suspects := users
	if changes != nil {
		kept, err := c.Ranking.States(ctx, board, users)
		if err != nil {
			return err
		}
		suspects = nil
		for i := range changes {
			if !kept[i].Agrees(&changes[i]) {
				suspects = append(suspects, users[i])
			}
		}
	}
	if len(suspects) == 0 {
		return nil
	}
	tries := settleTries
	if v.Wrong >= maxDifferences {
		tries = 0 // plainly wrong: patience would only take hours
	}
	wrong, err := differing(ctx, c.Ledger, c.Ranking, board, suspects, tries)
	if err != nil {
		return err
	}
	for i := range wrong {
		d := &wrong[i]
		v.differ(Difference{Board: board, User: d.truth.User, Kind: d.kind(), Detail: d.describe()})
		if c.Mend {
			mended, err := c.Ranking.Repair(ctx, &d.truth, d.kept)
			if err != nil {
				return err
			}
			if mended {
				v.Mended++
			}
		}
	}
	return nil
}
