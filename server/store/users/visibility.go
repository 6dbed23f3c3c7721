package users

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Visibility is the table user_privacy.
type Visibility struct {
	db     *pg.DB
	shards int // of the outbox
}

// NewVisibility returns a Visibility over db. shards is the number of outbox shards.
func NewVisibility(db *pg.DB, shards int) *Visibility { return &Visibility{db, shards} }

const visibilityColumns = `p.user_id, p.visibility, p.pseudonym_key, p.changed_at`

func scanVisibility(row pgx.CollectableRow) (p scoreboard.Privacy, err error) {
	err = row.Scan(&p.User, &p.Visibility, &p.Key, &p.ChangedAt)
	p.ChangedAt = p.ChangedAt.UTC()
	return p, err
}

// Put stores who sees a user, under the user's lock, as every write that names a user, and
// returns it with the scores that it hides or shows: all of them, if the user leaves the
// boards or comes back. audit is the entry of an operator, nil for the user. It is gone for an
// erased user, and rate_limited for one who left the boards less than stay ago. The time
// changes only with the visibility.
func (s *Visibility) Put(
	ctx context.Context, user scoreboard.UserID, to scoreboard.Visibility, stay time.Duration,
	audit *scoreboard.AuditEntry,
) (p scoreboard.Privacy, moved map[scoreboard.BoardID]int64, err error) {
	const put = `insert into user_privacy as p (user_id, visibility, pseudonym_key) values ($1, $2, $3)
on conflict (user_id) do update set visibility = excluded.visibility,
    changed_at = case when p.visibility = excluded.visibility then p.changed_at
        else greatest(clock_timestamp(), p.changed_at + interval '1 microsecond') end
returning ` + visibilityColumns
	err = s.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		if err := pg.LockStatuses(ctx, tx); err != nil {
			return err
		}
		u, err := pg.LockUser(ctx, tx, user)
		switch {
		case err != nil:
			return err
		case u.Status == scoreboard.UserErased:
			return pg.ErasedUser(user)
		}
		rows, err := tx.Query(ctx, put, user, to, scoreboard.NewPseudonymKey())
		if err != nil {
			return err
		}
		if p, err = pgx.CollectExactlyOneRow(rows, scanVisibility); err != nil {
			return err
		}
		if private := to == scoreboard.VisibilityPrivate; private != u.Private {
			if moved, err = s.setPrivate(ctx, tx, u, private, stay); err != nil {
				return err
			}
		}
		return pg.WriteAudit(ctx, tx, audit)
	})
	if err != nil {
		return p, nil, pg.Translate(fmt.Errorf("store who sees %s: %w", user, err))
	}
	return p, moved, nil
}

// setPrivate has a locked user leave all boards, or come back with the same scores and times.
func (s *Visibility) setPrivate(
	ctx context.Context, tx pgx.Tx, u *ledger.LockedUser, private bool, stay time.Duration,
) (map[scoreboard.BoardID]int64, error) {
	const begin = `insert into private_users (user_id, since) values ($1, $2)`
	const end = `update private_users set until = $2 where user_id = $1 and until is null returning since`
	var since time.Time
	var err error
	if private {
		_, err = tx.Exec(ctx, begin, u.User, u.Time)
	} else {
		err = tx.QueryRow(ctx, end, u.User, u.Time).Scan(&since)
	}
	if wait := stay - u.Time.Sub(since); err == nil && wait > 0 {
		return nil, &scoreboard.Error{
			Code: wire.CodeRateLimited, RetryAfter: wait,
			Message: fmt.Sprintf("user %s left the boards less than %s ago", u.User, stay),
		}
	}
	if err == nil {
		_, err = tx.Exec(ctx, `update users set private = $2 where user_id = $1`, u.User, private)
	}
	if err != nil {
		return nil, err
	}
	return pg.HideScores(ctx, tx, u.User, s.shards, u.Time)
}

// Get returns who sees a user: everyone, if the user has never changed that.
func (s *Visibility) Get(ctx context.Context, user scoreboard.UserID) (scoreboard.Privacy, error) {
	all, err := s.list(ctx, `select `+visibilityColumns+` from user_privacy p where user_id = $1`, user)
	if err == nil && len(all) == 0 {
		return scoreboard.Privacy{User: user, Visibility: scoreboard.VisibilityPublic}, nil
	}
	if err != nil {
		return scoreboard.Privacy{}, err
	}
	return all[0], nil
}

// Hidden returns up to limit users who are not public, by id, after an id.
func (s *Visibility) Hidden(
	ctx context.Context, after scoreboard.UserID, limit int,
) ([]scoreboard.Privacy, error) {
	return s.list(ctx, `select `+visibilityColumns+` from user_privacy p where user_id > $1 and visibility <> 'public'
order by user_id limit $2`, after, limit)
}

// Changed returns up to limit users who changed after a time and user, in the order of both.
func (s *Visibility) Changed(
	ctx context.Context, at time.Time, user scoreboard.UserID, limit int,
) ([]scoreboard.Privacy, error) {
	return s.list(ctx, `select `+visibilityColumns+` from user_privacy p where (p.changed_at, p.user_id) > ($1, $2)
order by p.changed_at, p.user_id limit $3`, at, user, limit)
}

func (s *Visibility) list(ctx context.Context, sql string, args ...any) ([]scoreboard.Privacy, error) {
	rows, err := s.db.Query(ctx, sql, args...)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read who sees users: %w", err))
	}
	all, err := pgx.CollectRows(rows, scanVisibility)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, pg.Translate(fmt.Errorf("read who sees users: %w", err))
	}
	return all, nil
}
