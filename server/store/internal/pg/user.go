package pg

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// SQLLockUsers creates missing users and locks all, in the order of the input, with one
// probe per row; the lock is "for no key update". clock_timestamp is read after the wait
// for the row, so a user's time never goes back. The clock itself is returned too: it
// decides the period, for a user whose time is ahead as well.
const SQLLockUsers = `insert into users (user_id, last_recorded_at)
select u, clock_timestamp() from unnest($1::text[]) as t(u)
on conflict (user_id) do update set last_recorded_at = greatest(clock_timestamp(), users.last_recorded_at)
returning user_id, status, private, last_recorded_at, clock_timestamp(), xmax = 0`

// SQLLockImported is SQLLockUsers for the users of an import, whose row it locks first:
// the times rise with the places of the users ($2), so that equal scores keep the order of
// the source, also after those that the import has written before. They are at most as many
// microseconds ahead of the clock as there are users, and a second after the clock went back.
const SQLLockImported = `with import as materialized (
    select greatest(clock_timestamp(), least(last_at, clock_timestamp() + interval '1 second')) as last_at
    from imports where import_id = $3 for update
)
insert into users (user_id, last_recorded_at)
select t.u, import.last_at + (1 + t.place) * interval '1 microsecond'
from import, unnest($1::text[], $2::integer[]) as t(u, place)
on conflict (user_id) do update set last_recorded_at = greatest(excluded.last_recorded_at, users.last_recorded_at)
returning user_id, status, private, last_recorded_at, clock_timestamp(), xmax = 0`

// StatusLock is the advisory lock that every change of a user's status holds, shared, from
// before it reads the clock to its commit. It is no name of a board.
const StatusLock = "user statuses"

// LockStatuses takes StatusLock for a change of a user's status.
func LockStatuses(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `select pg_advisory_xact_lock_shared(hashtextextended($1, 0))`, StatusLock)
	return err
}

// ScanLocked reads a row of SQLLockUsers or SQLLockImported.
func ScanLocked(row pgx.CollectableRow) (u ledger.LockedUser, err error) {
	err = row.Scan(&u.User, &u.Status, &u.Private, &u.Time, &u.Clock, &u.Created)
	return u, err
}

// LockUsers locks the rows of different users in byte order, and creates missing ones:
// without a row, nothing would keep two transactions about the user apart.
func LockUsers(ctx context.Context, tx pgx.Tx, users []scoreboard.UserID) ([]ledger.LockedUser, error) {
	users = slices.Sorted(slices.Values(users))
	rows, err := tx.Query(ctx, SQLLockUsers, users)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, ScanLocked)
}

// LockUser is LockUsers for one.
func LockUser(ctx context.Context, tx pgx.Tx, user scoreboard.UserID) (*ledger.LockedUser, error) {
	locked, err := LockUsers(ctx, tx, []scoreboard.UserID{user})
	if err != nil {
		return nil, err
	}
	return &locked[0], nil
}

// sqlOnlyTraces reports whether anything but a row of users names a user. Only users
// without a score are asked about, so the other tables suffice.
const sqlOnlyTraces = `select exists (select from profiles where user_id = $1)
    or exists (select from user_privacy where user_id = $1) or exists (select from external_ids where user_id = $1)
    or exists (select from friends where user_id = $1) or exists (select from friends where friend_user_id = $1)
    or exists (select from team_members where user_id = $1)
    or exists (select from flags where user_id = $1) or exists (select from rejected_events where user_id = $1)
    or exists (select from dead_letters
        where position(convert_to('"user_id":"' || $1 || '"', 'UTF8') in value) > 0)`

// LockKnownUser is LockUser for a user about whom anything is stored, be it a profile, a
// friendship, a membership of a team, a flag, a rejected event or a dead letter alone; a not_found for any other.
func LockKnownUser(ctx context.Context, tx pgx.Tx, user scoreboard.UserID) (*ledger.LockedUser, error) {
	u, err := LockUser(ctx, tx, user)
	if err == nil && u.Created {
		var known bool
		if known, err = HasTraces(ctx, tx, user); err == nil && !known {
			return nil, NoUser(user) // and the transaction ends without the new row
		}
	}
	return u, err
}

// HasTraces reports whether anything is stored about a user who has no row of users.
func HasTraces(ctx context.Context, q Querier, user scoreboard.UserID) (found bool, err error) {
	err = q.QueryRow(ctx, sqlOnlyTraces, string(user)).Scan(&found)
	return found, err
}

// ErasedUser returns the gone for a write about an erased user.
func ErasedUser(user scoreboard.UserID) error {
	return scoreboard.Errorf(wire.CodeGone, "user %s is erased", user)
}
