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

// Visibility is the table user_privacy, and private_users, which has when users were private.
type Visibility struct {
	db     *pg.DB
	shards int // of the outbox

	// MinPublic is how long a user is public between two private periods; in a shorter time the
	// user counts as private.
	MinPublic time.Duration
	// MaxPeriods is how many private periods a user has; the oldest are merged.
	MaxPeriods int
}

// NewVisibility returns a Visibility over db. shards is the number of outbox shards.
func NewVisibility(db *pg.DB, shards int) *Visibility {
	return &Visibility{db: db, shards: shards, MinPublic: time.Minute, MaxPeriods: 64}
}

// A user who stops being private rewrites all their scores and leaves a period, so that is limited.
// Becoming private is not.
const (
	maxReturns   = 6
	returnWindow = time.Hour
)

const visibilityColumns = `p.user_id, p.visibility, p.pseudonym_key, p.changed_at`

func scanVisibility(row pgx.CollectableRow) (p scoreboard.Privacy, err error) {
	err = row.Scan(&p.User, &p.Visibility, &p.Key, &p.ChangedAt)
	p.ChangedAt = p.ChangedAt.UTC()
	return p, err
}

// Put stores a user's visibility, under the user's lock, as every write that names a user, and
// returns it with the scores that it hides or shows: all of them, if the user leaves the
// boards or comes back. audit is the entry of an operator, nil for the user. It is gone for an
// erased user, forbidden to a frozen one who leaves the boards or comes back, and rate_limited
// for one who comes back too often; operators have no limit. The time changes only with the
// visibility.
func (s *Visibility) Put(
	ctx context.Context, user scoreboard.UserID, to scoreboard.Visibility, audit *scoreboard.AuditEntry,
) (p scoreboard.Privacy, moved map[scoreboard.BoardID]int64, err error) {
	return s.put(ctx, user, to, audit, func(scoreboard.Visibility) error { return nil })
}

// Hide is Put for an operator who may not show a user to more people: it is forbidden if anyone
// sees the user afterwards who did not before.
func (s *Visibility) Hide(
	ctx context.Context, user scoreboard.UserID, to scoreboard.Visibility, audit *scoreboard.AuditEntry,
) (p scoreboard.Privacy, moved map[scoreboard.BoardID]int64, err error) {
	return s.put(ctx, user, to, audit, func(from scoreboard.Visibility) error {
		if from.Covers(to) {
			return nil
		}
		return scoreboard.Errorf(wire.CodeForbidden,
			"user %s is %s; to show a user to more people requires the user or the scope score:admin", user, from)
	})
}

func (s *Visibility) put(
	ctx context.Context, user scoreboard.UserID, to scoreboard.Visibility, audit *scoreboard.AuditEntry,
	check func(from scoreboard.Visibility) error,
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
		private := to == scoreboard.VisibilityPrivate
		if u.Status == scoreboard.UserFrozen && private != u.Private && audit == nil {
			return scoreboard.Errorf(wire.CodeForbidden,
				"user %s is frozen and cannot leave the boards or return", user)
		}
		from := scoreboard.VisibilityPublic
		err = tx.QueryRow(ctx, `select visibility from user_privacy where user_id = $1`, user).Scan(&from)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err := check(from); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, put, user, to, scoreboard.NewPseudonymKey())
		if err != nil {
			return err
		}
		if p, err = pgx.CollectExactlyOneRow(rows, scanVisibility); err != nil {
			return err
		}
		if private != u.Private {
			if !private && audit == nil {
				if err := countReturn(ctx, tx, u); err != nil {
					return err
				}
			}
			if moved, err = s.setPrivate(ctx, tx, u, private); err != nil {
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

// countReturn counts that a locked user stops being private, up to a limit.
func countReturn(ctx context.Context, tx pgx.Tx, u *ledger.LockedUser) error {
	const lately = `select array(select t from unnest(returns) as t where t > $2 order by t)
from user_privacy where user_id = $1`
	var returns []time.Time
	err := tx.QueryRow(ctx, lately, u.User, u.Time.Add(-returnWindow)).Scan(&returns)
	if err != nil {
		return err
	}
	if n := len(returns); n >= maxReturns {
		return &scoreboard.Error{
			Code: wire.CodeRateLimited, RetryAfter: returns[n-maxReturns].Add(returnWindow).Sub(u.Time),
			Message: fmt.Sprintf("user %s stopped being private %d times within %s", u.User, n, returnWindow),
		}
	}
	_, err = tx.Exec(ctx, `update user_privacy set returns = $2 where user_id = $1`, u.User, append(returns, u.Time))
	return err
}

// setPrivate has a locked user leave all boards, or come back with the same scores and times.
func (s *Visibility) setPrivate(
	ctx context.Context, tx pgx.Tx, u *ledger.LockedUser, private bool,
) (map[scoreboard.BoardID]int64, error) {
	const end = `update private_users set until = $2 where user_id = $1 and until is null`
	var err error
	if private {
		err = s.beginPeriod(ctx, tx, u)
	} else {
		_, err = tx.Exec(ctx, end, u.User, u.Time)
	}
	if err == nil {
		_, err = tx.Exec(ctx, `update users set private = $2 where user_id = $1`, u.User, private)
	}
	if err != nil {
		return nil, err
	}
	return pg.HideScores(ctx, tx, u.User, s.shards, u.Time)
}

const (
	// sqlResume continues the last period, if it ended after a time.
	sqlResume = `update private_users set until = null, merged_at = $2
where user_id = $1 and since = (select max(since) from private_users where user_id = $1) and until > $3`

	// sqlMergeOldest merges all periods but the $3 newest ones.
	sqlMergeOldest = `with old as (
    select since, until from private_users where user_id = $1 order by since desc offset $3
), one as (
    select min(since) as since, max(since) as last, max(until) as until from old having count(*) > 1
), gone as (
    delete from private_users as p using one where p.user_id = $1 and p.since > one.since and p.since <= one.last
)
update private_users as p set until = one.until, merged_at = $2 from one where p.user_id = $1 and p.since = one.since`
)

// beginPeriod begins a private period of a locked user, and keeps their number bounded. Merging
// hides the user at times at which they were public, never the other way around.
func (s *Visibility) beginPeriod(ctx context.Context, tx pgx.Tx, u *ledger.LockedUser) error {
	resumed, err := tx.Exec(ctx, sqlResume, u.User, u.Time, u.Time.Add(-s.MinPublic))
	if err != nil || resumed.RowsAffected() > 0 {
		return err
	}
	_, err = tx.Exec(ctx, `insert into private_users (user_id, since) values ($1, $2)`, u.User, u.Time)
	if err == nil {
		_, err = tx.Exec(ctx, sqlMergeOldest, u.User, u.Time, s.MaxPeriods-1)
	}
	return err
}

// Get returns a user's visibility: public, if the user has never changed that.
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
