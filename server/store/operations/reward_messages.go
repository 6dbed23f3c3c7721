package operations

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

const (
	// Whoever grants has locked a row before the id of the grant is taken, and so has a transaction id by then.
	sqlRewardHorizon = `select coalesce((select max(grant_id) from reward_grants), 0), pg_snapshot_xmin(s),
    pg_snapshot_xmax(s) from pg_current_snapshot() as s`

	// None of a webhook that has been disabled since it was listed: its cursor must not move.
	sqlRewardCursor = `select m.grant_id from reward_messages as m join webhooks as w using (webhook_id)
where m.webhook_id = $1 and w.disabled_at is null for update of m for share of w`

	// It begins with the first reward that was granted after the webhook was created. Ids rise with times, but for
	// transactions that run at once, so the newest from a minute before on are read.
	sqlBeginRewards = `insert into reward_messages (webhook_id, grant_id)
select w.webhook_id, coalesce((select min(grant_id) - 1 from reward_grants where granted_at >= w.created_at
    and grant_id > coalesce((select grant_id from reward_grants where granted_at < w.created_at - interval '1 minute'
        order by grant_id desc limit 1), 0)), $2)
from webhooks as w where w.webhook_id = $1 for key share on conflict do nothing`

	// Statistics may be older than the last million grants.
	sqlRewardPlan = `select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('enable_sort', 'off', true), set_config('jit', 'off', true)`

	sqlRewardBacklog = `select count(*) from (select from webhook_deliveries
    where webhook_id = $1 and state = 'pending' and type = $2 limit $3) as t`

	sqlNextRewards = `select ` + rewardColumns + ` where g.grant_id > $1 and g.grant_id <= $2
order by g.grant_id limit $3`

	// By the index of a board's grants, so that a webhook for some boards reads none of the others.
	sqlNextRewardsOf = `select ` + rewardColumns + ` where g.grant_id = any (array(
    select n.grant_id from unnest($4::text[]) as f(board) cross join lateral (select grant_id from reward_grants
        where split_part(board_id, ':', 1) = f.board and grant_id > $1 and grant_id <= $2
        order by split_part(board_id, ':', 1), grant_id limit $3) as n
    order by n.grant_id limit $3)) order by g.grant_id`

	// Private users are told of if they were to get a reward.
	rewardColumns = `g.grant_id, g.board_id, g.user_id, coalesce(g.rank, 0), coalesce(g.revision, 0),
    coalesce(g.reward, b.reward), g.granted_at, g.expires_at,
    g.claimed_at is null and g.revoked_at is null and g.voids = 0 and g.expires_at > clock_timestamp(),
    coalesce(t.private, true)
from reward_grants as g left join reward_bands as b on b.table_id = g.table_id and b.band = g.band
left join reward_tables as t on t.table_id = g.table_id`

	sqlMoveRewards = `update reward_messages set grant_id = $2 where webhook_id = $1`
)

const (
	// maxRewardBacklog is how many messages about rewards wait for a webhook at most, beside those of other types.
	maxRewardBacklog = 1_000
	rewardPage       = 200
)

// RewardHorizon moves a horizon: the grants up to Safe are all committed, or never will be.
func (s *Webhooks) RewardHorizon(ctx context.Context, h *scoreboard.RewardHorizon) error {
	var last int64
	var xmin, xmax uint64
	if err := s.db.QueryRow(ctx, sqlRewardHorizon).Scan(&last, &xmin, &xmax); err != nil {
		return pg.Translate(fmt.Errorf("find the last reward: %w", err))
	}
	h.Move(last, xmin, xmax)
	return nil
}

// QueueRewards queues the messages about the next rewards for a webhook, those up to an id that RewardHorizon has
// found, in one transaction with where it continues. Of those that can still be claimed and that it wants, encode makes
// the messages, except about users who are banned, or have left all boards and get rewards only while on one. It
// reports whether there are more, and does nothing while many wait for the webhook.
func (s *Webhooks) QueueRewards(
	ctx context.Context, w *scoreboard.Webhook, safe int64, encode func(*scoreboard.RewardGrant) (string, error),
) (more bool, err error) {
	if safe == 0 { // not known yet
		return false, nil
	}
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		var after int64
		err := tx.QueryRow(ctx, sqlRewardCursor, w.ID).Scan(&after)
		if errors.Is(err, pgx.ErrNoRows) {
			_, err = tx.Exec(ctx, sqlBeginRewards, w.ID, safe)
			return err
		}
		if err != nil || after >= safe {
			return err
		}
		var waiting int
		err = tx.QueryRow(ctx, sqlRewardBacklog, w.ID, scoreboard.WebhookRewardGranted, maxRewardBacklog).Scan(&waiting)
		if err != nil || waiting >= maxRewardBacklog {
			return err
		}
		more, err = queueRewards(ctx, tx, w, after, safe, encode)
		return err
	})
	if err != nil {
		return false, pg.Translate(fmt.Errorf("queue messages about rewards for webhook %s: %w", w.ID, err))
	}
	return more, nil
}

func queueRewards(
	ctx context.Context, tx pgx.Tx, w *scoreboard.Webhook, after, safe int64,
	encode func(*scoreboard.RewardGrant) (string, error),
) (more bool, err error) {
	grants, last, more, err := nextRewards(ctx, tx, w, after, safe)
	if err != nil {
		return false, err
	}
	users := make([]scoreboard.UserID, len(grants))
	for i := range grants {
		users[i] = grants[i].User
	}
	locked, err := lockNames(ctx, tx, users)
	if err != nil {
		return false, err
	}
	var messages []message
	for i := range grants {
		g := &grants[i]
		if is := locked[g.User]; is == erased || is == banned || is == private && !g.private {
			continue
		}
		payload, err := encode(&g.RewardGrant)
		if err != nil {
			return false, err
		}
		// The same for all webhooks and attempts, and after a restart.
		messages = append(messages, message{"msg_reward_" + strconv.FormatInt(g.ID, 10), payload})
	}
	err = queue(ctx, tx, locked, scoreboard.WebhookRewardGranted, messages, []string{w.ID})
	if err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, sqlMoveRewards, w.ID, last)
	return more, err
}

// nextReward is a reward that a webhook is told of.
type nextReward struct {
	scoreboard.RewardGrant
	private bool // also if the user is private
}

// nextRewards reads a page of the rewards that a webhook wants and that can be claimed, up to the id last, and reports
// whether there may be more.
func nextRewards(
	ctx context.Context, tx pgx.Tx, w *scoreboard.Webhook, after, safe int64,
) (grants []nextReward, last int64, more bool, err error) {
	sql, args := sqlNextRewards, []any{after, safe, rewardPage}
	if w.Boards != nil {
		if _, err := tx.Exec(ctx, sqlRewardPlan); err != nil {
			return nil, 0, false, err
		}
		sql, args = sqlNextRewardsOf, append(args, w.Boards)
	}
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, 0, false, err
	}
	var g nextReward
	var claimable bool
	last, read := safe, 0
	to := []any{
		&g.ID, &g.Board, &g.User, &g.Rank, &g.Revision, &g.Reward, &g.Granted, &g.Expires, &claimable, &g.private,
	}
	_, err = pgx.ForEachRow(rows, to, func() error {
		if read++; read == rewardPage {
			last = g.ID
		}
		if claimable && w.Wants(scoreboard.WebhookRewardGranted, g.Board) {
			g.Granted, g.Expires = g.Granted.UTC(), g.Expires.UTC()
			grants = append(grants, g)
		}
		return nil
	})
	return grants, last, read == rewardPage, err
}
