package boards

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

const (
	sqlGrants = `select g.grant_id, g.board_id, g.user_id, coalesce(g.rank, 0), coalesce(g.revision, 0),
    coalesce(g.reward, b.reward), g.granted_at, g.expires_at, g.claimed_at, g.revoked_at,
    g.voids > 0 and g.claimed_at is not null,
    case when g.claimed_at is not null then 'claimed' when g.revoked_at is not null or g.voids > 0 then 'revoked'
        when g.expires_at <= statement_timestamp() then 'expired' else 'claimable' end as state
from reward_grants as g left join reward_bands as b on b.table_id = g.table_id and b.band = g.band`

	sqlUserGrants = `select * from (` + sqlGrants + `
where g.user_id = $1 and ($2::bigint = 0 or g.grant_id < $2)) as t where $3 = '' or state = $3
order by grant_id desc limit $4`

	sqlBoardGrants = `select * from (` + sqlGrants + `
where g.board_id = $1 and g.user_id > $2 order by g.user_id limit $5) as t
where $4 = '' or state = $4 order by user_id limit $3`

	sqlSeenGrants = `select coalesce(max(user_id), ''), count(*) from (select user_id from reward_grants
    where board_id = $1 and user_id > $2 order by user_id limit $3) as t`

	sqlClaim = `update reward_grants set claimed_at = clock_timestamp()
where grant_id = $1 and user_id = $2 and claimed_at is null and revoked_at is null and voids = 0
    and expires_at > clock_timestamp()`

	sqlRevoke = `update reward_grants set revoked_at = clock_timestamp()
where grant_id = $1 and claimed_at is null and revoked_at is null`

	// Again for a grant that was revoked: another one, of which webhooks are told. An operator's grant is no void's
	// any more.
	sqlGrantTo = `insert into reward_grants as g (board_id, user_id, reward, granted_at, expires_at)
select $1::text, $2::text, $3::text, at, at + make_interval(secs => $4) from (select clock_timestamp() as at) as t
on conflict (board_id, user_id) do update set grant_id = default, reward = excluded.reward, rank = null,
    table_id = null, band = null, revision = null, granted_at = excluded.granted_at, expires_at =
    excluded.expires_at, revoked_at = null,
    voids = 0
where g.claimed_at is null and (g.revoked_at is not null or g.voids > 0)
returning g.grant_id`

	sqlForgetVoids = `delete from void_rewards using reward_grants as g
where void_rewards.grant_id = g.grant_id and g.board_id = $1 and g.user_id = $2 and g.claimed_at is null`
)

func scanGrant(row pgx.CollectableRow) (g scoreboard.RewardGrant, err error) {
	var claimed, revoked pgtype.Timestamptz // null is the zero time
	err = row.Scan(&g.ID, &g.Board, &g.User, &g.Rank, &g.Revision, &g.Reward, &g.Granted, &g.Expires, &claimed,
		&revoked, &g.Flagged, &g.State)
	g.Granted, g.Expires = g.Granted.UTC(), g.Expires.UTC()
	g.Claimed, g.Revoked = claimed.Time.UTC(), revoked.Time.UTC()
	return g, err
}

// UserRewards lists at most limit grants of a user in a state ("" for all) before an id (0: from the
// newest), newest first.
func (s *Rewards) UserRewards(
	ctx context.Context, user scoreboard.UserID, state scoreboard.RewardState, before int64, limit int,
) ([]scoreboard.RewardGrant, error) {
	grants, err := s.grants(ctx, sqlUserGrants, user, before, state, limit)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list the rewards of %s: %w", user, err))
	}
	return grants, nil
}

// maxSeenGrants bounds the grants that are looked at for a page of those in a state.
const maxSeenGrants = 10_000

// BoardRewards lists at most limit grants of a period in a state ("" for all), by user, after a user, and the user
// after whom the next page begins, "" for none. Of many in other states it looks at some only: a page may be empty.
func (s *Rewards) BoardRewards(
	ctx context.Context, board scoreboard.BoardID, state scoreboard.RewardState, after scoreboard.UserID, limit int,
) (grants []scoreboard.RewardGrant, next scoreboard.UserID, err error) {
	seen := limit + 1
	if state != "" {
		seen = maxSeenGrants
	}
	grants, err = s.grants(ctx, sqlBoardGrants, board, after, limit+1, state, seen)
	switch {
	case err != nil:
	case len(grants) > limit:
		grants = grants[:limit]
		next = grants[limit-1].User
	case state != "":
		var n int
		if err = s.db.QueryRow(ctx, sqlSeenGrants, board, after, seen).Scan(&next, &n); n < seen {
			next = ""
		}
	}
	if err != nil {
		return nil, "", pg.Translate(fmt.Errorf("list the rewards of board %s: %w", board, err))
	}
	return grants, next, nil
}

// grants reads a page of grants in the order of an index, also right after a period has ended, when PostgreSQL does not
// know how many grants there are.
func (s *Rewards) grants(
	ctx context.Context, sql string, args ...any,
) (grants []scoreboard.RewardGrant, err error) {
	var b pgx.Batch // a transaction of its own
	b.Queue(pg.PlanByIndex)
	b.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
		grants, err = pgx.CollectRows(rows, scanGrant)
		return err
	})
	return grants, s.db.SendBatch(ctx, &b).Close()
}

// findGrant returns a grant of a user ("" for any), or a not_found.
func findGrant(ctx context.Context, tx pgx.Tx, id int64, user scoreboard.UserID) (scoreboard.RewardGrant, error) {
	rows, err := tx.Query(ctx, sqlGrants+` where g.grant_id = $1 and ($2 = '' or g.user_id = $2)`, id, user)
	if err != nil {
		return scoreboard.RewardGrant{}, err
	}
	g, err := pgx.CollectExactlyOneRow(rows, scanGrant)
	if errors.Is(err, pgx.ErrNoRows) {
		return g, scoreboard.Errorf(wire.CodeNotFound, "reward %d not found", id)
	}
	return g, err
}

// Claim claims a grant of a user, and returns it. Claimed again, it is the same. It is forbidden to
// banned and frozen users, a conflict if the grant was revoked, and gone if it has expired.
func (s *Rewards) Claim(
	ctx context.Context, user scoreboard.UserID, id int64,
) (g scoreboard.RewardGrant, err error) {
	var first bool
	err = s.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		if err := lockActive(ctx, tx, user); err != nil {
			return err
		}
		done, err := tx.Exec(ctx, sqlClaim, id, user)
		if err != nil {
			return err
		}
		first = done.RowsAffected() == 1
		g, err = findGrant(ctx, tx, id, user)
		switch {
		case err != nil || g.State == scoreboard.RewardClaimed:
			return err
		case g.State == scoreboard.RewardRevoked:
			return scoreboard.Errorf(wire.CodeConflict, "reward %d was revoked", id)
		}
		return scoreboard.Errorf(wire.CodeGone, "reward %d has expired", id)
	})
	if err != nil {
		return g, pg.Translate(fmt.Errorf("claim reward %d of %s: %w", id, user, err))
	}
	if first {
		s.claimed.Inc()
	}
	return g, nil
}

// lockActive locks a user against changes of the status, who must be active.
func lockActive(ctx context.Context, tx pgx.Tx, user scoreboard.UserID) error {
	var status string
	err := tx.QueryRow(ctx, `select status from users where user_id = $1 for share`, user).Scan(&status)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return pg.NoUser(user)
	case err != nil:
		return err
	case status == scoreboard.UserErased:
		return pg.ErasedUser(user)
	case status != scoreboard.UserActive:
		return scoreboard.Errorf(wire.CodeForbidden, "user %s is %s", user, status)
	}
	return nil
}

// Grant grants a reward to a user in a period whose standings are final, whatever the table says. It
// returns a conflict if the user has a grant of that period which is not revoked.
func (s *Rewards) Grant(
	ctx context.Context, g *scoreboard.RewardGrant, expires time.Duration, audit *scoreboard.AuditEntry,
) (made scoreboard.RewardGrant, err error) {
	err = s.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		if err := lockActive(ctx, tx, g.User); err != nil {
			return err
		}
		var sealed bool
		err := tx.QueryRow(ctx, `select standings_hash is not null from boards where board_id = $1`, g.Board).
			Scan(&sealed)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return scoreboard.Errorf(wire.CodeNotFound, "board %s not found", g.Board)
		case err != nil:
			return err
		case !sealed:
			return scoreboard.Errorf(wire.CodeConflict, "board %s has no final standings", g.Board)
		}
		if _, err := tx.Exec(ctx, sqlForgetVoids, g.Board, g.User); err != nil {
			return err
		}
		var id int64
		err = tx.QueryRow(ctx, sqlGrantTo, g.Board, g.User, g.Reward, expires.Seconds()).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return scoreboard.Errorf(wire.CodeConflict, "user %s has a reward of board %s; revoke it first", g.User,
				g.Board)
		}
		if err != nil {
			return err
		}
		if made, err = findGrant(ctx, tx, id, g.User); err != nil {
			return err
		}
		return pg.WriteAudit(ctx, tx, audit)
	})
	if err != nil {
		return made, pg.Translate(fmt.Errorf("grant a reward to %s: %w", g.User, err))
	}
	return made, nil
}

// Revoke takes a grant back that is not claimed; once revoked, again without effect. It returns a
// conflict if the grant is claimed. why makes the audit entry, which names the user.
func (s *Rewards) Revoke(
	ctx context.Context, id int64, why func(*scoreboard.RewardGrant) *scoreboard.AuditEntry,
) (g scoreboard.RewardGrant, err error) {
	err = s.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlRevoke, id); err != nil {
			return err
		}
		if g, err = findGrant(ctx, tx, id, ""); err != nil {
			return err
		}
		if g.State == scoreboard.RewardClaimed {
			return scoreboard.Errorf(wire.CodeConflict, "reward %d is claimed", id)
		}
		return pg.WriteAudit(ctx, tx, why(&g))
	})
	if err != nil {
		return g, pg.Translate(fmt.Errorf("revoke reward %d: %w", id, err))
	}
	return g, nil
}
