package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// What a user may be. Who is not active writes nothing; who is banned is not
// to be seen; of who is erased only the name is left for a time.
const (
	statusActive = "active"
	statusFrozen = "frozen"
	statusBanned = "banned"
	statusErased = "erased"
)

// Every score of a user is shown or hidden at once, and the projection hears of
// each: a later revision, so that no event that is late can undo it.
const (
	sqlHideScores = `with changed as (
    update scores set hidden = $2 or empty, revision = revision + 1 where user_id = $1 and hidden <> ($2 or empty)
    returning *)
insert into outbox_score_updates (shard, event_id, user_id, board_id, score, previous_score, delta, order_key, version,
    revision, reached_at, recorded_at, hidden)
select $3, gen_random_uuid(), user_id, board_id, score, score, 0, order_key, version, revision, reached_at, $4, hidden from changed
returning board_id, revision`

	sqlLockUser = `update users set last_recorded_at = greatest(clock_timestamp(), last_recorded_at)
where user_id = $1 returning status, last_recorded_at`
)

// Ban keeps a user from writing and from being seen.
func (s *Store) Ban(ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry) (*scoreboard.UserState, error) {
	return s.setUserStatus(ctx, user, statusBanned, []string{statusActive, statusFrozen}, why)
}

// Unban ends a ban: the scores are seen again, reached when they were.
func (s *Store) Unban(ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry) (*scoreboard.UserState, error) {
	return s.setUserStatus(ctx, user, statusActive, []string{statusBanned}, why)
}

// Freeze keeps a user from writing.
func (s *Store) Freeze(ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry) (*scoreboard.UserState, error) {
	return s.setUserStatus(ctx, user, statusFrozen, []string{statusActive}, why)
}

// Unfreeze lets a frozen user write again.
func (s *Store) Unfreeze(ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry) (*scoreboard.UserState, error) {
	return s.setUserStatus(ctx, user, statusActive, []string{statusFrozen}, why)
}

// setUserStatus takes a user from one of some states to another; where it is that
// already, nothing happens, so a repeat does no harm. From any other it is a
// conflict.
func (s *Store) setUserStatus(ctx context.Context, user scoreboard.UserID, to string, from []string, why *scoreboard.AuditEntry) (*scoreboard.UserState, error) {
	state := &scoreboard.UserState{User: user, Status: to}
	err := s.withUser(ctx, user, func(tx pgx.Tx, u *userRow) error {
		if u.status == to {
			return nil
		}
		if !slices.Contains(from, u.status) {
			return scoreboard.Errorf(scoreboard.CodeConflict, "user %s is %s", user, u.status)
		}
		state.Changed = true
		if _, err := tx.Exec(ctx, `update users set status = $2 where user_id = $1`, user, to); err != nil {
			return err
		}
		if to == statusBanned || u.status == statusBanned {
			rows, err := tx.Query(ctx, sqlHideScores, user, to == statusBanned, shardOf(user, s.o.Shards), u.time)
			if err != nil {
				return err
			}
			state.Moved = make(map[scoreboard.BoardID]int64)
			var board scoreboard.BoardID
			var revision int64
			if _, err := pgx.ForEachRow(rows, []any{&board, &revision}, func() error {
				state.Moved[board] = revision
				return nil
			}); err != nil {
				return err
			}
		}
		return writeAudit(ctx, tx, why)
	})
	if err != nil {
		return nil, translate(fmt.Errorf("make %s %s: %w", user, to, err))
	}
	return state, nil
}

// withUser locks a user for a transaction: a not_found where there is none,
// gone where the user is erased.
func (s *Store) withUser(ctx context.Context, user scoreboard.UserID, do func(pgx.Tx, *userRow) error) error {
	return s.insist(ctx, func() error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, sqlSettings, milliseconds(s.o.LockWait), milliseconds(s.o.Timeout)); err != nil {
				return err
			}
			var u userRow
			err := tx.QueryRow(ctx, sqlLockUser, user).Scan(&u.status, &u.time)
			if errors.Is(err, pgx.ErrNoRows) {
				return noUser(user)
			}
			if err == nil && u.status == statusErased {
				err = scoreboard.Errorf(scoreboard.CodeGone, "user %s is erased", user)
			}
			if err != nil {
				return err
			}
			return do(tx, &u)
		})
	})
}

// UserStatus says what a user is; "" where there is none.
func (s *Store) UserStatus(ctx context.Context, user scoreboard.UserID) (status string, err error) {
	err = s.pool.QueryRow(ctx, `select status from users where user_id = $1`, user).Scan(&status)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", translate(fmt.Errorf("look up user %s: %w", user, err))
	}
	return status, nil
}
