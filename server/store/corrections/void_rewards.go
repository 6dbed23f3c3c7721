package corrections

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

const (
	// The grants of users in periods in which these events counted. An operator's grants are deliberate. They
	// are locked by id, so that two voids do not wait for each other.
	sqlTakeBack = `with affected as (
    select grant_id from reward_grants as g where g.reward is null
        and (g.user_id, g.board_id) in (select u, b from unnest($2::text[], $3::text[]) as t(u, b))
    order by grant_id for update
), added as (
    insert into void_rewards (void_id, grant_id) select $1, grant_id from affected on conflict do nothing
    returning grant_id
)
update reward_grants as g set voids = voids + 1 from added where g.grant_id = added.grant_id`

	sqlGiveBack = `with affected as (
    select grant_id from reward_grants
    where grant_id in (select grant_id from void_rewards where void_id = $1 order by grant_id limit $2)
    order by grant_id for update
), removed as (
    delete from void_rewards where void_id = $1 and grant_id in (select grant_id from affected) returning grant_id
)
update reward_grants as g set voids = voids - 1 from removed where g.grant_id = removed.grant_id`

	// What a void of a sender's events would take back.
	sqlAffected = `select g.grant_id, g.board_id, g.user_id, g.rank, g.revision, b.reward, g.granted_at, g.expires_at,
    g.claimed_at, count(*) filter (where g.claimed_at is null) over (),
    count(*) filter (where g.claimed_at is not null) over ()
from reward_grants as g join reward_bands as b on b.table_id = g.table_id and b.band = g.band
where g.reward is null and g.revoked_at is null and g.voids = 0
    and (g.claimed_at is not null or g.expires_at > statement_timestamp())
    and (g.user_id, g.board_id) in (select user_id, board_id ` + sqlSent + `)
order by g.board_id, g.user_id limit $5`
)

// takeBack takes the rewards back that the users of a void's events have won in periods in which the
// events counted, before they are reversed; once is enough. A grant that is being made for such a
// period is either found here, or its transaction finds the void: both hold the lock of statuses.
func (c *Corrections) takeBack(ctx context.Context, void int64, events []ledger.Event) error {
	var users, boards []string
	for i := range events {
		for _, board := range events[i].Boards {
			if board.IsInstance() {
				users, boards = append(users, string(events[i].User)), append(boards, string(board))
			}
		}
	}
	if len(users) == 0 {
		return nil
	}
	return c.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		if err := pg.LockStatuses(ctx, tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sqlTakeBack, void, users, boards)
		return err
	})
}

// giveBack gives back the rewards that a void has taken, before its events count again.
func (c *Corrections) giveBack(ctx context.Context, void int64) error {
	for more := true; more; {
		err := c.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
			if err := pg.LockStatuses(ctx, tx); err != nil {
				return err
			}
			done, err := tx.Exec(ctx, sqlGiveBack, void, voidEvents)
			more = done.RowsAffected() > 0
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addRewards completes a preview by the rewards that the void would take back.
func addRewards(rows pgx.Rows, r *scoreboard.VoidedRewards) error {
	return pg.ForEach(rows, func() error {
		g := scoreboard.RewardGrant{State: scoreboard.RewardClaimable}
		var claimed pgtype.Timestamptz
		err := rows.Scan(&g.ID, &g.Board, &g.User, &g.Rank, &g.Revision, &g.Reward, &g.Granted, &g.Expires, &claimed,
			&r.Revoked, &r.Flagged)
		if claimed.Valid {
			g.State = scoreboard.RewardClaimed
		}
		g.Granted, g.Expires, g.Claimed = g.Granted.UTC(), g.Expires.UTC(), claimed.Time.UTC()
		r.First = append(r.First, g)
		return err
	})
}
