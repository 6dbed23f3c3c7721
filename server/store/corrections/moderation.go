package corrections

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Moderation is the users' status and flags.
type Moderation struct {
	db     *pg.DB
	shards int // of the outbox
}

// NewModeration returns a Moderation over db. shards is the number of outbox shards.
func NewModeration(db *pg.DB, shards int) *Moderation { return &Moderation{db, shards} }

// Ban blocks a user's writes and hides the user.
func (m *Moderation) Ban(
	ctx context.Context,
	user scoreboard.UserID,
	audit *scoreboard.AuditEntry,
) (*scoreboard.UserState, error) {
	return m.setUserStatus(
		ctx,
		user,
		scoreboard.UserBanned,
		[]string{scoreboard.UserActive, scoreboard.UserFrozen},
		audit,
	)
}

// Unban ends a ban: the scores are visible again with their original times.
func (m *Moderation) Unban(
	ctx context.Context,
	user scoreboard.UserID,
	audit *scoreboard.AuditEntry,
) (*scoreboard.UserState, error) {
	return m.setUserStatus(ctx, user, scoreboard.UserActive, []string{scoreboard.UserBanned}, audit)
}

// Freeze blocks a user's writes.
func (m *Moderation) Freeze(
	ctx context.Context,
	user scoreboard.UserID,
	audit *scoreboard.AuditEntry,
) (*scoreboard.UserState, error) {
	return m.setUserStatus(ctx, user, scoreboard.UserFrozen, []string{scoreboard.UserActive}, audit)
}

// Unfreeze lets a frozen user write again.
func (m *Moderation) Unfreeze(
	ctx context.Context,
	user scoreboard.UserID,
	audit *scoreboard.AuditEntry,
) (*scoreboard.UserState, error) {
	return m.setUserStatus(ctx, user, scoreboard.UserActive, []string{scoreboard.UserFrozen}, audit)
}

const sqlSetStatus = `with changed as (update users set status = $2 where user_id = $1)
insert into user_statuses (user_id, status, at) values ($1, $2, $3)`

const sqlTellTeams = `insert into team_changes (board_id, team)
select distinct board_id, team from team_members where user_id = $1`

// setUserStatus changes a user's status from one of several to another. If the
// user has it already, nothing changes; from any other status it is a conflict.
func (m *Moderation) setUserStatus(
	ctx context.Context,
	user scoreboard.UserID,
	to string,
	from []string,
	audit *scoreboard.AuditEntry,
) (*scoreboard.UserState, error) {
	state := &scoreboard.UserState{User: user, Status: to}
	err := m.withUser(ctx, user, func(tx pgx.Tx, u *ledger.LockedUser) error {
		if u.Status == to {
			return nil
		}
		if !slices.Contains(from, u.Status) {
			return scoreboard.Errorf(wire.CodeConflict, "user %s is %s", user, u.Status)
		}
		state.Changed = true
		if _, err := tx.Exec(ctx, sqlSetStatus, user, to, u.Time); err != nil {
			return err
		}
		if to == scoreboard.UserBanned || u.Status == scoreboard.UserBanned {
			var err error
			if state.Moved, err = pg.HideScores(ctx, tx, user, m.shards, u.Time); err != nil {
				return err
			}
			// No score of a private user is hidden or shown by that, so no row of the outbox tells
			// the teams, which count private users and no banned ones.
			if u.Private {
				if _, err := tx.Exec(ctx, sqlTellTeams, user); err != nil {
					return err
				}
			}
		}
		return pg.WriteAudit(ctx, tx, audit)
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("set the status of %s to %s: %w", user, to, err))
	}
	return state, nil
}

// withUser locks a user for a transaction: a not_found for a user about whom nothing is
// stored, gone for an erased one.
func (m *Moderation) withUser(
	ctx context.Context, user scoreboard.UserID, do func(pgx.Tx, *ledger.LockedUser) error,
) error {
	return m.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		if err := pg.LockStatuses(ctx, tx); err != nil {
			return err
		}
		u, err := pg.LockKnownUser(ctx, tx, user)
		if err == nil && u.Status == scoreboard.UserErased {
			err = pg.ErasedUser(user)
		}
		if err != nil {
			return err
		}
		return do(tx, u)
	})
}

// UserStatus returns a user's status; "" for an unknown user.
func (m *Moderation) UserStatus(ctx context.Context, user scoreboard.UserID) (status string, err error) {
	err = m.db.QueryRow(ctx, `select status from users where user_id = $1`, user).Scan(&status)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", pg.Translate(fmt.Errorf("look up user %s: %w", user, err))
	}
	return status, nil
}
