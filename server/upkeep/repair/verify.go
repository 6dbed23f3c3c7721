package repair

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// VerifiedStore is the store as a check reads it: scores, and the ledger behind them.
type VerifiedStore interface {
	StoreStates
	ExposedUsers
	// WithoutScore returns those of the users that have no score on a board.
	WithoutScore(
		ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID,
	) ([]scoreboard.UserID, error)
	Standings(
		ctx context.Context, board scoreboard.BoardID, size int, do func([]scoreboard.Change) error,
	) (asOf time.Time, err error)
	SumLedger(
		ctx context.Context,
		board scoreboard.BoardID,
		user scoreboard.UserID,
		size int,
		do func([]scoreboard.LedgerSum) error,
	) error
}

// VerifiedRanking is the ranking as a check reads and repairs it.
type VerifiedRanking interface {
	RankedStates
	Users(ctx context.Context, board scoreboard.BoardID, do func([]scoreboard.UserID) error) error
	// OrphanedMembers lists members of the sorted set that belong to no user
	// state; Remove removes one if it still is an orphan.
	OrphanedMembers(ctx context.Context, board scoreboard.BoardID, do func([]scoreboard.OrphanedMember) error) error
	Remove(ctx context.Context, board scoreboard.BoardID, m scoreboard.OrphanedMember) (bool, error)
}

// Difference is an inconsistency of one user on one board.
type Difference struct {
	Board  scoreboard.BoardID
	User   scoreboard.UserID
	Kind   string
	Detail string
}

// maxDifferences bounds the differences listed; all are counted.
const maxDifferences = 1000

// VerifyResult is the outcome of a check.
type VerifyResult struct {
	Users, Rows     int64 // compared
	Rewards         int64 // compared
	DifferenceCount int64 // may exceed len(Differences)
	Waiting         int64 // users whose ranking waits for changes, with AllowLag
	Repaired        int64
	Differences     []Difference
	Elapsed         time.Duration
}

func (v *VerifyResult) add(d Difference) {
	v.DifferenceCount++
	if len(v.Differences) < maxDifferences {
		v.Differences = append(v.Differences, d)
	}
}

// Check compares boards, or one user if User is set. It always compares the
// ranking with the store, scores of teams with those of their members, and the rewards of ended
// periods with their final standings; the scores with the ledger if CheckLedger is set. Repair overwrites wrong states
// in the ranking, and has
// the scores of teams recorded; it never changes what the ledger has.
type Check struct {
	Store       VerifiedStore
	Teams       Teams   // nil: scores of teams are not compared
	Rewards     Rewards // nil: rewards are not compared
	Ranking     VerifiedRanking
	User        scoreboard.UserID
	CheckLedger bool
	Repair      bool
	// AllowLag counts users for whom the ranking lacks only changes that it need not have yet as
	// waiting: they are repaired, but are no differences.
	AllowLag bool
	Progress func(*VerifyResult)
}

// Run checks the boards, in constant memory.
func (c *Check) Run(ctx context.Context, boards []scoreboard.Board) (*VerifyResult, error) {
	started := time.Now()
	v := &VerifyResult{}
	for i := range boards {
		err := c.checkExposed(ctx, boards[i].ID, v)
		if err == nil {
			err = c.checkBoard(ctx, boards[i].ID, v)
		}
		if err == nil {
			err = c.checkTeams(ctx, &boards[i], v)
		}
		if err == nil {
			err = c.checkRewards(ctx, &boards[i], v)
		}
		if err != nil {
			return nil, fmt.Errorf("verify board %s: %w", boards[i].ID, err)
		}
	}
	v.Elapsed = time.Since(started)
	return v, nil
}

func (c *Check) checkBoard(ctx context.Context, board scoreboard.BoardID, v *VerifyResult) error {
	if c.User != "" {
		before := v.Users
		if err := c.checkStored(ctx, board, nil, v); err != nil || v.Users > before {
			return err
		}
		// The user has no score, and must not be ranked.
		return c.compare(ctx, board, []scoreboard.UserID{c.User}, nil, nil, v)
	}
	seed := maphash.MakeSeed()
	ranked, checked := &tally{seed: seed}, &tally{seed: seed}
	both, bothCtx := errgroup.WithContext(ctx)
	both.Go(func() error { return c.checkStored(bothCtx, board, checked, v) })
	both.Go(func() error {
		return c.Ranking.Users(bothCtx, board, func(users []scoreboard.UserID) error {
			for _, user := range users {
				ranked.add(user)
			}
			return nil
		})
	})
	if err := both.Wait(); err != nil {
		return err
	}
	if err := c.checkUnknown(ctx, board, ranked, checked, v); err != nil {
		return err
	}
	return c.Ranking.OrphanedMembers(ctx, board, func(orphans []scoreboard.OrphanedMember) error {
		return c.checkOrphans(ctx, board, orphans, v)
	})
}

// checkUnknown compares users in the ranking that checkStored has not met: of those that
// it has checked, they are the ones missing from those that are ranked. Only shares of
// the two that differ are looked at; users that came meanwhile make some differ.
func (c *Check) checkUnknown(
	ctx context.Context, board scoreboard.BoardID, ranked, checked *tally, v *VerifyResult,
) error {
	if ranked.shares == checked.shares {
		return nil
	}
	return c.Ranking.Users(ctx, board, func(users []scoreboard.UserID) error {
		users = slices.DeleteFunc(users, func(u scoreboard.UserID) bool { return !ranked.differs(checked, u) })
		if len(users) == 0 {
			return nil
		}
		users, err := c.Store.WithoutScore(ctx, board, users)
		if err != nil || len(users) == 0 {
			return err
		}
		return c.compare(ctx, board, users, nil, nil, v)
	})
}

// checkStored compares all users that have a score, or the one user. It reads
// the ledger only on request: the ledger is large. It adds those that are in the ranking
// to checked, if there is one.
func (c *Check) checkStored(ctx context.Context, board scoreboard.BoardID, checked *tally, v *VerifyResult) error {
	if c.CheckLedger {
		return c.Store.SumLedger(ctx, board, c.User, chunkSize, func(audits []scoreboard.LedgerSum) error {
			changes := make([]scoreboard.Change, len(audits))
			for i := range audits {
				changes[i] = audits[i].Change
				v.Rows += audits[i].Rows
				checkLedger(&audits[i], v)
			}
			return c.compareChunk(ctx, board, changes, checked, v)
		})
	}
	if c.User == "" {
		_, err := c.Store.Standings(ctx, board, chunkSize, func(changes []scoreboard.Change) error {
			return c.compareChunk(ctx, board, changes, checked, v)
		})
		return err
	}
	one, err := c.Store.States(ctx, board, []scoreboard.UserID{c.User})
	if err != nil || len(one) == 0 {
		return err
	}
	return c.compareChunk(ctx, board, one, checked, v)
}

func (c *Check) compareChunk(
	ctx context.Context,
	board scoreboard.BoardID,
	changes []scoreboard.Change,
	checked *tally,
	v *VerifyResult,
) error {
	users := make([]scoreboard.UserID, len(changes))
	for i := range changes {
		users[i] = changes[i].User
	}
	v.Users += int64(len(users))
	if err := c.compare(ctx, board, users, changes, checked, v); err != nil {
		return err
	}
	c.Progress(v)
	return nil
}

// checkOrphans needs no retries: member and state change in one step.
func (c *Check) checkOrphans(
	ctx context.Context, board scoreboard.BoardID, orphans []scoreboard.OrphanedMember, v *VerifyResult,
) error {
	for _, m := range orphans {
		v.add(Difference{
			Board: board, User: m.User, Kind: "orphaned_member",
			Detail: "the sorted set has a member without a user state",
		})
		if !c.Repair {
			continue
		}
		removed, err := c.Ranking.Remove(ctx, board, m)
		if err != nil {
			return err
		}
		if removed {
			v.Repaired++
		}
	}
	return nil
}

// checkLedger compares a score with the sum of its ledger rows.
func checkLedger(a *scoreboard.LedgerSum, v *VerifyResult) {
	d := Difference{Board: a.Board, User: a.User}
	switch {
	case a.Revision == 0:
		d.Kind, d.Detail = "no_score", fmt.Sprintf("%d ledger rows, no score", a.Rows)
	case a.Rows == 0 && a.Archived:
		return // all its rows are archived
	case a.Rows == 0 && a.Version == 0 && a.Hidden:
		return // the tombstone of an erased user
	case a.Rows == 0:
		d.Kind, d.Detail = "no_ledger", fmt.Sprintf("score %d at version %d, no ledger rows", a.Score, a.Version)
	case a.Last != a.Version || a.Last-a.First+1 != a.Rows:
		d.Kind = "version_gap"
		d.Detail = fmt.Sprintf(
			"%d ledger rows from version %d to %d, score at version %d",
			a.Rows,
			a.First,
			a.Last,
			a.Version,
		)
	case a.Expected != int64(a.Score):
		d.Kind, d.Detail = "sum", fmt.Sprintf("the ledger adds up to %d, the score is %d", a.Expected, a.Score)
	case a.ExpectedSubscore != int64(a.Subscore):
		d.Kind = "sum"
		d.Detail = fmt.Sprintf("the ledger adds up to the subscore %d, that of the score is %d", a.ExpectedSubscore,
			a.Subscore)
	case a.First == 1 && a.Uncounted != a.Corrections && !a.User.Anonymous():
		d.Kind = "uncounted"
		d.Detail = fmt.Sprintf("%d of the ledger rows are no attempts, the score has %d", a.Corrections, a.Uncounted)
	default:
		return
	}
	v.add(d)
}

// compare checks users against the ranking. Those that differ from changes at
// first, or all without changes, are read again until they agree or the retries
// end.
func (c *Check) compare(
	ctx context.Context,
	board scoreboard.BoardID,
	users []scoreboard.UserID,
	changes []scoreboard.Change,
	checked *tally,
	v *VerifyResult,
) error {
	suspects := users
	if changes != nil {
		ranked, err := c.Ranking.States(ctx, board, users)
		if err != nil {
			return err
		}
		suspects = nil
		for i := range changes {
			if checked != nil && ranked[i].Raw != "" {
				checked.add(users[i])
			}
			if !ranked[i].Agrees(&changes[i]) {
				suspects = append(suspects, users[i])
			}
		}
	}
	if len(suspects) == 0 {
		return nil
	}
	retries := driftRetries
	if v.DifferenceCount+v.Waiting >= maxDifferences {
		retries = 0 // clearly wrong: retries of every chunk would take hours
	}
	drifted, err := findDrift(ctx, c.Store, c.Ranking, board, suspects, retries)
	if err != nil {
		return err
	}
	for i := range drifted {
		d := &drifted[i]
		if d.waits && c.AllowLag {
			v.Waiting++
		} else {
			v.add(Difference{Board: board, User: d.stored.User, Kind: d.kind(), Detail: d.describe()})
		}
		if c.Repair {
			repaired, err := c.Ranking.Repair(ctx, &d.stored, d.ranked)
			if err != nil {
				return err
			}
			if repaired {
				v.Repaired++
			}
		}
	}
	return nil
}
