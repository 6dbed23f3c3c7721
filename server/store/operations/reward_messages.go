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

	// It begins with the first reward that was granted after the webhook was created.
	sqlBeginRewards = `insert into reward_messages (webhook_id, grant_id)
select w.webhook_id, coalesce((select min(grant_id) - 1 from reward_grants where granted_at >= w.created_at), $2)
from webhooks as w where w.webhook_id = $1 for key share on conflict do nothing`

	sqlRewardBacklog = `select count(*) from (select from webhook_deliveries
    where webhook_id = $1 and state = 'pending' and type = $2 limit $3) as t`

	sqlNextRewards = `select g.grant_id, g.board_id, g.user_id, coalesce(g.rank, 0), coalesce(g.revision, 0),
    coalesce(g.reward, b.reward), g.granted_at, g.expires_at,
    g.claimed_at is null and g.revoked_at is null and g.voids = 0 and g.expires_at > clock_timestamp()
from reward_grants as g left join reward_bands as b on b.table_id = g.table_id and b.band = g.band
where g.grant_id > $1 and g.grant_id <= $2 order by g.grant_id limit $3`

	sqlQueueRewards = `insert into webhook_deliveries (webhook_id, message_id, type, payload)
select w.webhook_id, t.id, $4, t.payload from webhooks as w, unnest($2::text[], $3::text[]) as t(id, payload)
where w.webhook_id = $1 and w.disabled_at is null on conflict do nothing`

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
// the messages. It reports whether there are more, and does nothing while many wait for the webhook.
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
	rows, err := tx.Query(ctx, sqlNextRewards, after, safe, rewardPage)
	if err != nil {
		return false, err
	}
	var ids, payloads []string
	var g scoreboard.RewardGrant
	var claimable bool
	last, read := safe, 0
	to := []any{
		&g.ID, &g.Board, &g.User, &g.Rank, &g.Revision, &g.Reward, &g.Granted, &g.Expires, &claimable,
	}
	_, err = pgx.ForEachRow(rows, to, func() error {
		if read++; read == rewardPage {
			last = g.ID
		}
		if !claimable || !w.Wants(scoreboard.WebhookRewardGranted, g.Board) {
			return nil
		}
		g.Granted, g.Expires = g.Granted.UTC(), g.Expires.UTC()
		payload, err := encode(&g)
		// The same for all webhooks and attempts, and after a restart.
		ids, payloads = append(ids, "msg_reward_"+strconv.FormatInt(g.ID, 10)), append(payloads, payload)
		return err
	})
	if err != nil {
		return false, err
	}
	if len(ids) > 0 {
		if _, err := tx.Exec(ctx, sqlQueueRewards, w.ID, ids, payloads, scoreboard.WebhookRewardGranted); err != nil {
			return false, err
		}
	}
	_, err = tx.Exec(ctx, sqlMoveRewards, w.ID, last)
	return read == rewardPage, err
}
