// Package history reads the standings of a board at a moment of the past, and stores
// checkpoints of standings that make it fast.
//
// Promise: an answer has exactly what was recorded at or before the moment, with ties in the
// order they had, and never changes. A moment that a running transaction could still
// change is a not_settled.
//
// Assumption: every writer takes the advisory lock of a board's family before it reads
// PostgreSQL's clock, and keeps it until the commit; a user's rows have rising times. If
// PostgreSQL's clock goes back, what is recorded before it has caught up can have times that
// were settled.
//
// On failure: without a checkpoint the ledger is read from the beginning of the board, within
// a bound. A checkpoint that was interrupted is never read.
package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// PastBoards are the past standings in a database.
type PastBoards struct {
	db         *pg.DB
	slots      *share.Pool // reads at a time: writes need the connections too
	maxEvents  int         // that one read may need beyond a checkpoint
	blockUsers int
	whatIf     *share.Pool              // the one what-if at a time
	maxWhatIf  int                      // rows that it may read
	whatIfWait time.Duration            // for it to end
	check      scoreboard.ProgressCheck // db is a replica, where no locks of writers are seen; nil: the primary
}

// The bounds of reads.
const (
	readSlots    = 3 // one caller, one board and long reads have two each
	readTimeout  = 5 * time.Second
	slotWait     = time.Second
	maxEvents    = 1_000_000
	maxCorrected = 10_000 // users whose scores are computed again
)

// New returns the PastBoards in db.
func New(db *pg.DB) *PastBoards {
	return &PastBoards{
		db: db, slots: share.New(readSlots), maxEvents: maxEvents, blockUsers: 1000,
		whatIf: share.New(1), maxWhatIf: scoreboard.MaxWhatIfEvents, whatIfWait: whatIfWait,
	}
}

// Replica returns m for a database that is a streaming replica, which is only read. check is
// called with the progress of the snapshot that an answer comes from.
func (m *PastBoards) Replica(check scoreboard.ProgressCheck) *PastBoards {
	of := *m
	of.check = check
	return &of
}

// query calls do with the database: of a replica with a snapshot that was checked.
func (m *PastBoards) query(ctx context.Context, do func(pg.Querier) error) error {
	if m.check == nil {
		return do(m.db)
	}
	return pgx.BeginTxFunc(ctx, m.db, pg.Snapshot, func(tx pgx.Tx) error {
		if _, err := pg.CheckProgress(ctx, tx, m.check); err != nil {
			return err
		}
		return do(tx)
	})
}

// Board returns the board that a board's name meant at a moment: of a family the instance
// of that time.
func (m *PastBoards) Board(ctx context.Context, family scoreboard.BoardID, at time.Time) (*scoreboard.Board, error) {
	var b scoreboard.Board
	err := m.query(ctx, func(db pg.Querier) (err error) {
		b, err = pg.ScanBoard(db.QueryRow(ctx, `select `+pg.BoardColumns+` from boards
where family_id = $1 and period_start <= $2 and period_end > $2`, family, at))
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "board %s had no period at %s", family,
			at.Format(time.RFC3339Nano))
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("find board %s at a moment: %w", family, err))
	}
	return &b, nil
}

// Top returns the standings after a position, nil for the first ones, at most limit.
func (m *PastBoards) Top(
	ctx context.Context, board *scoreboard.Board, at scoreboard.PastTime, after *scoreboard.Position, limit int,
) (top *scoreboard.Top, err error) {
	err = m.read(ctx, board, at, func(ctx context.Context, v *view) error {
		page, rank, err := v.page(ctx, after, limit)
		if err != nil {
			return err
		}
		top = &scoreboard.Top{Board: board.ID, AsOf: at.At, UpdatedAt: at.At, Total: v.total}
		if top.Entries, err = v.entries(ctx, page, rank); err != nil {
			return err
		}
		if board.SharesRanks() {
			top.First = rank
		}
		for i := range page {
			top.Reached = append(top.Reached, page[i].ReachedAt)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return top, nil
}

// Place returns the standing of a user with k neighbours on each side, or a not_found.
func (m *PastBoards) Place(
	ctx context.Context, board *scoreboard.Board, at scoreboard.PastTime, user scoreboard.UserID, k int,
) (place *scoreboard.Place, err error) {
	err = m.read(ctx, board, at, func(ctx context.Context, v *view) error {
		p, found, err := v.place(ctx, board, at.At, user)
		if err != nil {
			return err
		}
		if place = found; k == 0 {
			return nil
		}
		around, above, err := v.around(ctx, p, k)
		if err != nil {
			return err
		}
		ordinal, err := v.ordinal(ctx, p, place.Rank)
		if err != nil {
			return err
		}
		place.Neighbours, err = v.entries(ctx, around, ordinal-int64(above))
		return err
	})
	if err != nil {
		return nil, err
	}
	return place, nil
}

// place returns the standing of a user without neighbours, or a not_found.
func (v *view) place(
	ctx context.Context, board *scoreboard.Board, at time.Time, user scoreboard.UserID,
) (*scoreboard.Position, *scoreboard.Place, error) {
	p, err := v.position(ctx, board, user)
	if err != nil {
		return nil, nil, err
	}
	if p == nil {
		return nil, nil, scoreboard.Errorf(wire.CodeNotFound, "user %s had no score on board %s at %s", user,
			board.ID, at.Format(time.RFC3339Nano))
	}
	rank, err := v.sharedRank(ctx, p)
	pair := board.Pair(p.Key, p.SubKey)
	return p, &scoreboard.Place{
		Board: board.ID, User: user, Score: pair.Score, Subscore: pair.Subscore, Rank: rank, Total: v.total,
		UpdatedAt: p.ReachedAt, AsOf: at,
	}, err
}

// read calls do with the standings at a moment, in one snapshot.
func (m *PastBoards) read(
	ctx context.Context, board *scoreboard.Board, at scoreboard.PastTime, do func(context.Context, *view) error,
) error {
	return m.inSnapshot(ctx, board, at.At, false, func(ctx context.Context, tx pgx.Tx) error {
		v, err := m.load(ctx, tx, board, at)
		if err != nil {
			return err
		}
		return do(ctx, v)
	})
}

// inSnapshot calls do with a snapshot in which a moment is settled. A long read is one of many
// moments.
func (m *PastBoards) inSnapshot(
	ctx context.Context, board *scoreboard.Board, at time.Time, long bool, do func(context.Context, pgx.Tx) error,
) error {
	wait, cancel := context.WithTimeout(ctx, slotWait)
	defer cancel()
	release, err := m.slots.Take(wait, share.Claim{Board: string(board.ID), Long: long})
	switch {
	case ctx.Err() != nil && err != nil:
		return ctx.Err()
	case err != nil:
		return &scoreboard.Error{
			Code: wire.CodeOverloaded, RetryAfter: slotWait, Message: "too many reads of past standings",
		}
	}
	defer release()
	return m.snapshot(ctx, board, at, do)
}

// snapshot is inSnapshot without a limit of reads at a time.
func (m *PastBoards) snapshot(
	ctx context.Context, board *scoreboard.Board, at time.Time, do func(context.Context, pgx.Tx) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var err error
	if m.check == nil {
		err = m.checkSettled(ctx, m.db, board, at)
	}
	if err == nil {
		err = pgx.BeginTxFunc(ctx, m.db, pg.Snapshot, func(tx pgx.Tx) error {
			// Whatever the statistics, the time selects the rows.
			if _, err := tx.Exec(ctx, `select set_config('enable_seqscan', 'off', true)`); err != nil {
				return err
			}
			if m.check != nil {
				if err := m.checkSettled(ctx, tx, board, at); err != nil {
					return err
				}
			}
			return do(ctx, tx)
		})
	}
	if err != nil {
		return pg.Translate(fmt.Errorf("read board %s at %s: %w", board.ID, at.Format(time.RFC3339Nano), err))
	}
	return nil
}

// settledRetry is when a moment that is not settled is worth another try.
const settledRetry = time.Second

// checkSettled returns a not_settled if a transaction that runs now, or begins later, could
// record something at or before a moment. It must be called before the snapshot is taken; on a
// replica, in it.
func (m *PastBoards) checkSettled(ctx context.Context, db pg.Querier, board *scoreboard.Board, at time.Time) error {
	settled, err := m.settled(ctx, db, []string{string(board.Family), pg.StatusLock})
	if err != nil || at.Before(settled) {
		return err
	}
	return &scoreboard.Error{
		Code: wire.CodeNotSettled, RetryAfter: settledRetry,
		Message: fmt.Sprintf("the standings of board %s at %s can still change", board.ID, at.Format(time.RFC3339Nano)),
	}
}

// settled returns a time before which nothing can be recorded any more.
// On a replica that is the time of the standings, which came in the same order as what was
// recorded: a transaction has its id before it takes the time of its changes, and all with a
// lower id than that time's had ended.
func (m *PastBoards) settled(ctx context.Context, db pg.Querier, families []string) (at time.Time, err error) {
	if m.check != nil {
		p, err := pg.CheckProgress(ctx, db, m.check)
		return p.AsOf, err
	}
	err = db.QueryRow(ctx, `select settled_at($1)`, families).Scan(&at)
	return at, err
}
