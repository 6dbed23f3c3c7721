package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// The bounds of checkpoints from the archive.
const (
	keptFor         = 7 * 24 * time.Hour
	keptAtOnce      = 20 // the oldest make room
	archivedTimeout = 6 * time.Hour
	foldedRows      = 1_000_000 // of users of whom events were reversed, in memory
	progressRows    = 10_000    // between two calls of progress

	// A user's first row is at most so much earlier than the user: the clock is read for the row
	// first. The name of an erased user is free again after weeks.
	reuseMargin = time.Hour
)

// Rows calls do with rows of the ledger, in any order.
type Rows func(ctx context.Context, do func(*scoreboard.ArchivedRow) error) error

// MakeArchived stores a checkpoint of a board at a moment from rows that are archived and those
// in the database. It is kept for some days, and Top and Place read it at exactly this moment.
// It calls progress with the number of rows read. Memory is bounded by the users of the board;
// rows that are missing are an error.
func (m *PastBoards) MakeArchived(
	ctx context.Context, board *scoreboard.Board, at time.Time, archived Rows, progress func(rows int64),
) (*scoreboard.KeptCheckpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, archivedTimeout)
	defer cancel()
	a := &archivedBoard{
		writer: writer{m: m, board: board.ID, of: board, at: at}, byID: make(map[scoreboard.UserID]*archivedUser),
	}
	a.next = func(ctx context.Context) error {
		progress(a.rows)
		return ctx.Err()
	}
	add := func(r *scoreboard.ArchivedRow) error { return a.add(ctx, r) }
	err := m.checkSettled(ctx, m.db, board, at)
	for _, step := range []func(context.Context) error{
		// The database first: what is archived meanwhile is read twice, which is found.
		a.begin, a.name, a.readUsers, a.inSnapshot(func(ctx context.Context, tx pgx.Tx) error {
			return a.readRows(ctx, tx, add)
		}),
		func(ctx context.Context) error { return archived(ctx, add) }, a.checkComplete, a.inSnapshot(a.readBeside),
		a.writeAll, a.keep,
	} {
		if err == nil {
			err = step(ctx)
		}
	}
	if err != nil {
		a.discard(ctx)
		return nil, pg.Translate(fmt.Errorf("make a checkpoint of board %s from the archive: %w", board.ID, err))
	}
	return &scoreboard.KeptCheckpoint{Board: board.ID, At: at, Users: a.users, KeptUntil: a.keptUntil}, nil
}

// archivedBoard collects the rows of a board up to a moment, and writes its checkpoint.
type archivedBoard struct {
	writer
	byID      map[scoreboard.UserID]*archivedUser
	rows      int64                                  // read
	settled   time.Time                              // corrections at or before it are known
	fold      map[scoreboard.UserID][]ledger.FoldRow // of users of whom events were reversed; nil: too many
	folded    int                                    // rows in fold
	restored  []standing                             // of these users, without what is reversed now
	keptUntil time.Time
}

// archivedUser is a user who is on the board and not erased.
type archivedUser struct {
	change
	number int64
	since  time.Time // earlier rows are of an erased user with the same id
	rows   int64
	banned bool // at the moment
}

// begin creates the checkpoint. Until it is complete it is kept as long as it can take.
func (a *archivedBoard) begin(ctx context.Context) (err error) {
	// What is corrected later may be in the rows or not, which is found when they are read.
	if a.settled, err = a.m.settled(ctx, a.m.db, []string{string(a.of.Family), pg.StatusLock}); err != nil {
		return err
	}
	a.settled = a.settled.Add(-time.Microsecond)
	return a.m.db.QueryRow(ctx, `insert into checkpoints (board_id, at, kept_until)
values ($1, $2, clock_timestamp() + $3::interval) returning checkpoint_id`,
		a.board, a.at, archivedTimeout).Scan(&a.id)
}

// discard deletes the checkpoint of an attempt that failed; DeleteOld does it later otherwise.
func (a *archivedBoard) discard(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = a.m.db.Exec(ctx, `delete from checkpoints where checkpoint_id = $1`, a.id)
}

// archivedName is a row of what readUsers reads.
type archivedName struct {
	User    scoreboard.UserID
	Number  int64
	Created time.Time
}

// readUsers reads the users that can be on the board, and those with events that were ever reversed.
func (a *archivedBoard) readUsers(ctx context.Context) error {
	var n int64
	err := a.m.db.QueryRow(ctx, `select count(*) from scores where board_id = $1 and version > 0`, a.board).Scan(&n)
	if err == nil && n > scoreboard.MaxWhatIfUsers {
		err = scoreboard.Invalid("board", "board %s has more than %d users", a.board, scoreboard.MaxWhatIfUsers)
	}
	if err != nil {
		return err
	}
	if err := pg.InChunks(ctx, a.m.db, "archived_users", nameRows, pgx.RowToStructByPos[archivedName],
		func(users []archivedName) error {
			for _, u := range users {
				a.byID[u.User] = &archivedUser{number: u.Number, since: u.Created.Add(-reuseMargin)}
			}
			return a.next(ctx)
		}, `select s.user_id, n.number, u.created_at from scores as s
join users as u on u.user_id = s.user_id and u.status <> 'erased'
join checkpoint_users as n on n.user_id = s.user_id where s.board_id = $1 and s.version > 0`, a.board); err != nil {
		return err
	}
	rows, err := a.m.db.Query(ctx, `select distinct user_id from corrected_standings where board_id = $1 limit $2`,
		a.board, maxCorrected+1)
	if err != nil {
		return err
	}
	corrected, err := pgx.CollectRows(rows, pgx.RowTo[scoreboard.UserID])
	if err != nil || len(corrected) > maxCorrected {
		return err
	}
	a.fold = make(map[scoreboard.UserID][]ledger.FoldRow, len(corrected))
	for _, u := range corrected {
		a.fold[u] = nil
	}
	return nil
}

// add adds a row, if it is on the board and not after the moment.
func (a *archivedBoard) add(ctx context.Context, r *scoreboard.ArchivedRow) error {
	if a.rows++; a.rows%progressRows == 0 {
		if err := a.next(ctx); err != nil {
			return err
		}
	}
	u := a.byID[r.User]
	if r.Board != a.board || r.At.After(a.at) || u == nil || r.At.Before(u.since) {
		return nil
	}
	u.rows++
	of := ledgerRow{had: r.Previous != nil && r.Version > 1, version: r.Version, at: r.At.UTC()}
	of.score = scoreboard.Pair{Score: r.Score, Subscore: orZero(r.NewSubscore)}
	if r.Previous != nil {
		of.previous = scoreboard.Pair{Score: *r.Previous, Subscore: orZero(r.PreviousSubscore)}
	}
	u.add(a.of, &of)
	if rows, corrected := a.fold[r.User]; corrected {
		if a.folded++; a.folded > foldedRows {
			a.fold = nil
			return nil
		}
		a.fold[r.User] = append(rows, ledger.FoldRow{
			Event: r.Event, Delta: r.Delta, Admin: r.Source == scoreboard.SourceAdmin, Action: r.Action, At: of.at,
			Version: r.Version, Before: r.Score - scoreboard.Score(r.Applied), Existed: r.Previous != nil,
			Subscore: orZero(r.Subscore), SubscoreBefore: orZero(r.PreviousSubscore),
		})
	}
	return nil
}

// orZero returns a subscore, 0 for none.
func orZero(s *scoreboard.Score) scoreboard.Score {
	if s == nil {
		return 0
	}
	return *s
}

// writeAll writes the standings in order, and the blocks of hidden users and of restored scores.
func (a *archivedBoard) writeAll(ctx context.Context) error {
	var all []ranked
	for user, u := range a.byID {
		if !u.exists {
			continue
		}
		r := ranked{u.position(u.reached, user), u.number}
		if u.banned {
			a.masked = append(a.masked, r.standing())
		} else {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(p, q ranked) int { return p.Compare(&q.Position) })
	for part := range slices.Chunk(all, standingRows) {
		for i := range part {
			a.pending = append(a.pending, part[i].standing())
		}
		if err := a.write(ctx, a.m.blockUsers); err != nil {
			return err
		}
	}
	if err := a.write(ctx, 1); err != nil {
		return err
	}
	if err := a.writeMasked(ctx); err != nil {
		return err
	}
	if a.fold == nil {
		return nil
	}
	return a.insert(ctx, []int{restoredBlock}, []int{len(a.restored)}, []int64{0}, []int64{0},
		[]time.Time{a.at}, [][]byte{appendStandings([]byte{}, a.restored, a.of)})
}

const (
	sqlKeep = `update checkpoints set complete = true, users = $2, kept_until = clock_timestamp() + $3::interval,
    corrected_at = $4
where checkpoint_id = $1 returning kept_until`

	sqlReplaceKept = `delete from checkpoints where kept_until is not null and complete and checkpoint_id <> $1
    and (board_id = $2 and at = $3 or checkpoint_id not in (
        select checkpoint_id from checkpoints where kept_until is not null and complete
        order by kept_until desc limit $4))`
)

// keep makes the checkpoint readable, in place of earlier ones of the same moment.
func (a *archivedBoard) keep(ctx context.Context) error {
	if err := a.next(ctx); err != nil {
		return err
	}
	var corrected *time.Time
	if a.fold != nil {
		corrected = &a.settled
	}
	return pgx.BeginFunc(ctx, a.m.db, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, sqlKeep, a.id, a.users, keptFor, corrected).Scan(&a.keptUntil)
		if errors.Is(err, pgx.ErrNoRows) {
			return scoreboard.Errorf(wire.CodeConflict, "another process deleted the checkpoint")
		}
		if err != nil {
			return err
		}
		a.keptUntil = a.keptUntil.UTC()
		_, err = tx.Exec(ctx, sqlReplaceKept, a.id, a.board, a.at, keptAtOnce)
		return err
	})
}
