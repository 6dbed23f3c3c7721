package history

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// inSnapshot is a step that reads one state of the database.
func (a *archivedBoard) inSnapshot(do func(context.Context, pgx.Tx) error) func(context.Context) error {
	return func(ctx context.Context) error {
		return pgx.BeginTxFunc(ctx, a.m.db, pg.Snapshot, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `select set_config('statement_timeout', $1, true), set_config('jit', 'off', true)`,
				fmt.Sprint(archivedTimeout.Milliseconds()))
			if err != nil {
				return err
			}
			return do(ctx, tx)
		})
	}
}

// readRows reads the rows that are in the database.
func (a *archivedBoard) readRows(ctx context.Context, tx pgx.Tx, add func(*scoreboard.ArchivedRow) error) error {
	rows, err := tx.Query(ctx, `select user_id, board_id, event_id, delta, applied, previous_score, new_score, version,
    recorded_at, source, coalesce(action, ''), subscore, previous_subscore, new_subscore from user_score_histories
where board_id = $1 and recorded_at <= $2`, a.board, a.at)
	if err != nil {
		return err
	}
	var r scoreboard.ArchivedRow
	_, err = pgx.ForEachRow(rows, []any{
		&r.User, &r.Board, (*[16]byte)(&r.Event), &r.Delta, &r.Applied, &r.Previous, &r.Score, &r.Version, &r.At,
		&r.Source, &r.Action, &r.Subscore, &r.PreviousSubscore, &r.NewSubscore,
	}, func() error { return add(&r) })
	return err
}

// readBeside reads what the rows do not tell.
func (a *archivedBoard) readBeside(ctx context.Context, tx pgx.Tx) error {
	l := newLoader(tx, a.of, scoreboard.PastTime{At: a.at})
	l.since = time.Unix(0, 0)
	if err := l.eachCorrection(ctx, func(user scoreboard.UserID, version int64, left correction) {
		if u := a.byID[user]; u != nil {
			u.correct(version, left)
		}
	}); err != nil {
		return err
	}
	if err := l.readUsers(ctx, l.hidden, sqlHiddenAt, a.at, slices.Collect(maps.Keys(a.byID))); err != nil {
		return err
	}
	for user := range l.hidden {
		if u := a.byID[user]; u != nil {
			u.banned = true
		}
	}
	return a.restore(ctx, tx)
}

// checkComplete returns an error if rows are missing or were read twice: a user's versions on a
// board count from 1.
func (a *archivedBoard) checkComplete(context.Context) error {
	var users int
	for _, u := range a.byID {
		if u.last != u.rows {
			users++
		}
	}
	if users == 0 {
		return nil
	}
	return scoreboard.Errorf(wire.CodeConflict,
		"rows of %d users of board %s before %s are missing, or are both in the archive and in the database; "+
			"if the ledger was being archived, try again", users, a.board, a.at.Format(time.RFC3339Nano))
}

// restore computes the standings of users of whom events were reversed, without these events.
func (a *archivedBoard) restore(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `select user_id, event_id, internal from reversals where user_id = any($1)`,
		slices.Collect(maps.Keys(a.fold)))
	if err != nil {
		return err
	}
	type event struct {
		user     scoreboard.UserID
		id       [16]byte
		internal bool
	}
	var e event
	reversed := make(map[event]struct{})
	if _, err := pgx.ForEachRow(rows, []any{&e.user, &e.id, &e.internal}, func() error {
		reversed[e] = struct{}{}
		return nil
	}); err != nil {
		return err
	}
	for user, rows := range a.fold {
		u := a.byID[user]
		if u == nil {
			continue // erased
		}
		slices.SortFunc(rows, func(p, q ledger.FoldRow) int { return cmp.Compare(p.Version, q.Version) })
		fold := ledger.NewFold(a.of)
		for i := range rows {
			_, rows[i].Reversed = reversed[event{user, rows[i].Event, rows[i].Admin}]
			fold.Add(&rows[i])
		}
		if to := fold.Standing(); to.Exists {
			r := ranked{a.of.PositionOf(to.Pair, to.ReachedAt, user), u.number}
			a.restored = append(a.restored, r.standing())
		}
	}
	return nil
}
