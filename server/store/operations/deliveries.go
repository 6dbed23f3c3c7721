package operations

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

const deliveryColumns = `id, webhook_id, message_id, type, payload, state, attempts, created_at, next_at, ended_at,
    coalesce(status, 0), coalesce(problem, '')`

func scanDelivery(row pgx.CollectableRow) (d scoreboard.WebhookDelivery, err error) {
	var ended pgtype.Timestamptz // null is the zero time
	err = row.Scan(&d.ID, &d.Webhook, &d.Message, &d.Type, &d.Payload, &d.State, &d.Attempts, &d.Created, &d.Next,
		&ended, &d.Status, &d.Problem)
	d.Created, d.Next, d.Ended = d.Created.UTC(), d.Next.UTC(), ended.Time.UTC()
	return d, err
}

// Deliveries lists at most limit deliveries of a webhook in a state ("" for all) before an
// id (0: from the newest), newest first. It returns a not_found without the webhook.
func (s *Webhooks) Deliveries(
	ctx context.Context, id, state string, before int64, limit int,
) ([]scoreboard.WebhookDelivery, error) {
	rows, err := s.db.Query(ctx, `select `+deliveryColumns+` from webhook_deliveries
where webhook_id = $1 and ($2 = '' or state = $2) and ($3::bigint = 0 or id < $3) order by id desc limit $4`,
		id, state, before, limit)
	var all []scoreboard.WebhookDelivery
	if err == nil {
		all, err = pgx.CollectRows(rows, scanDelivery)
	}
	if err == nil && len(all) == 0 {
		err = s.db.QueryRow(ctx, `select from webhooks where webhook_id = $1`, id).Scan()
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, notFound(id)
		}
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list the deliveries of webhook %s: %w", id, err))
	}
	return all, nil
}

// Retry has a delivery attempted again at once, from the first attempt, whatever its
// state; not_found without it.
func (s *Webhooks) Retry(
	ctx context.Context, id string, delivery int64, why *scoreboard.AuditEntry,
) (d scoreboard.WebhookDelivery, err error) {
	_, err = s.change(ctx, id, "retry a delivery of", why, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `update webhook_deliveries
set state = 'pending', attempts = 0, next_at = clock_timestamp(), ended_at = null
where webhook_id = $1 and id = $2 returning `+deliveryColumns, id, delivery)
		if err != nil {
			return err
		}
		d, err = pgx.CollectExactlyOneRow(rows, scanDelivery)
		if errors.Is(err, pgx.ErrNoRows) {
			return scoreboard.Errorf(wire.CodeNotFound, "delivery %d of webhook %s not found", delivery, id)
		}
		return err
	})
	return d, err
}

// Claim takes the delivery of a webhook that has been due the longest, and counts an
// attempt; nil if none is due. Until claim has passed nobody else attempts it: a process
// that dies delays it by as much.
func (s *Webhooks) Claim(
	ctx context.Context, webhook string, claim time.Duration,
) (*scoreboard.WebhookDelivery, error) {
	rows, err := s.db.Query(ctx, `update webhook_deliveries
set attempts = attempts + 1, next_at = clock_timestamp() + make_interval(secs => $2)
where id = (select d.id from webhook_deliveries as d join webhooks as w using (webhook_id)
    where d.webhook_id = $1 and d.state = 'pending' and d.next_at <= clock_timestamp() and w.disabled_at is null
    order by d.next_at, d.id limit 1 for update of d skip locked)
returning `+deliveryColumns, webhook, claim.Seconds())
	var d scoreboard.WebhookDelivery
	if err == nil {
		d, err = pgx.CollectExactlyOneRow(rows, scanDelivery)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // documented
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("claim a delivery of webhook %s: %w", webhook, err))
	}
	return &d, nil
}

// Finish stores the outcome of the attempt of a claimed delivery: its State, Status and
// Problem, and if it is still pending, that it is due after wait. A delivery that an
// operator, or after the claim another process, has changed meanwhile is left alone.
func (s *Webhooks) Finish(ctx context.Context, d *scoreboard.WebhookDelivery, wait time.Duration) error {
	_, err := s.db.Exec(ctx, `update webhook_deliveries
set state = $3, status = nullif($4, 0), problem = nullif($5, ''),
    next_at = clock_timestamp() + make_interval(secs => $6),
    ended_at = case when $3 = 'pending' then null else clock_timestamp() end
where id = $1 and state = 'pending' and attempts = $2`,
		d.ID, d.Attempts, d.State, d.Status, d.Problem, wait.Seconds())
	if err != nil {
		return pg.Translate(fmt.Errorf("store the outcome of delivery %d: %w", d.ID, err))
	}
	return nil
}

// Backlogs returns the number of pending deliveries of each webhook that has any, counted up
// to limit, and the age of the oldest.
func (s *Webhooks) Backlogs(ctx context.Context, limit int) (map[string]scoreboard.WebhookBacklog, error) {
	rows, err := s.db.Query(ctx, `
select w.webhook_id, d.pending, extract(epoch from clock_timestamp() - d.oldest)::float8
from webhooks as w cross join lateral (select count(*) as pending, min(created_at) as oldest
    from (select created_at from webhook_deliveries where webhook_id = w.webhook_id and state = 'pending' limit $1) as p
) as d where d.pending > 0`, limit)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("count the pending deliveries: %w", err))
	}
	all := make(map[string]scoreboard.WebhookBacklog)
	err = pg.ForEach(rows, func() error {
		var id string
		var b scoreboard.WebhookBacklog
		var seconds float64
		err := rows.Scan(&id, &b.Pending, &seconds)
		b.Oldest = time.Duration(seconds * float64(time.Second))
		all[id] = b
		return err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("count the pending deliveries: %w", err))
	}
	return all, nil
}

// DeleteOld deletes at most limit deliveries that ended longer ago than delivered or
// failed, by their state, and the users in the top of boards that have ended.
func (s *Webhooks) DeleteOld(ctx context.Context, delivered, failed time.Duration, limit int) error {
	_, err := s.db.Exec(ctx, `with ended as (
    delete from webhook_tops using boards where webhook_tops.board_id = boards.board_id and closed_at is not null)
delete from webhook_deliveries where id = any (array(
    select id from webhook_deliveries where state <> 'pending' and ended_at < clock_timestamp() - make_interval(secs =>
        case state when 'delivered' then $1::float8 else $2::float8 end) limit $3))`,
		delivered.Seconds(), failed.Seconds(), limit)
	if err != nil {
		return pg.Translate(fmt.Errorf("delete old deliveries: %w", err))
	}
	return nil
}
