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

// Webhooks is the tables of webhooks.
type Webhooks struct{ db *pg.DB }

// NewWebhooks returns a Webhooks over db.
func NewWebhooks(db *pg.DB) *Webhooks { return &Webhooks{db} }

// MaxWebhooks bounds the webhooks: each costs work for every message.
const MaxWebhooks = 50

const webhookColumns = `w.webhook_id, w.url, w.types, w.boards, coalesce(w.top, 0), w.created_at, w.disabled_at,
    coalesce(w.disabled_reason, ''), s.generation, s.retires_at`

// The newest secret of a webhook, and until when the previous one is valid.
const fromWebhooks = ` from webhooks w cross join lateral (
    select max(generation) as generation, max(retires_at) filter (where retires_at > clock_timestamp()) as retires_at
    from webhook_secrets where webhook_id = w.webhook_id) as s`

func scanWebhook(row pgx.Row) (w scoreboard.Webhook, err error) {
	var disabled, retires pgtype.Timestamptz // null is the zero time
	err = row.Scan(&w.ID, &w.URL, &w.Types, &w.Boards, &w.Top, &w.Created, &disabled, &w.Reason, &w.Generation,
		&retires)
	w.Created, w.Disabled, w.Retires = w.Created.UTC(), disabled.Time.UTC(), retires.Time.UTC()
	return w, err
}

func notFound(id string) error {
	return scoreboard.Errorf(wire.CodeNotFound, "webhook %s not found", id)
}

// change runs a change of a webhook with its audit entry, and returns the webhook
// afterwards; not_found if there is none.
func (s *Webhooks) change(
	ctx context.Context, id, what string, why *scoreboard.AuditEntry, do func(pgx.Tx) error,
) (w scoreboard.Webhook, err error) {
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		w, err = scanWebhook(tx.QueryRow(ctx, `select `+webhookColumns+fromWebhooks+` where w.webhook_id = $1`, id))
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound(id)
		}
		if err != nil {
			return err
		}
		return pg.WriteAudit(ctx, tx, why)
	})
	if err != nil {
		return w, pg.Translate(fmt.Errorf("%s webhook %s: %w", what, id, err))
	}
	return w, nil
}

// Create stores a new webhook with its first encrypted secret; a conflict if there are
// MaxWebhooks.
func (s *Webhooks) Create(
	ctx context.Context, w *scoreboard.Webhook, encrypted []byte, why *scoreboard.AuditEntry,
) (scoreboard.Webhook, error) {
	return s.change(ctx, w.ID, "create", why, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `lock table webhooks in share row exclusive mode`); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `insert into webhooks (webhook_id, url, types, boards, top)
select $1, $2, $3, $4, nullif($5, 0) where (select count(*) from webhooks) < $6`,
			w.ID, w.URL, w.Types, w.Boards, w.Top, MaxWebhooks)
		if err == nil && tag.RowsAffected() == 0 {
			return scoreboard.Errorf(wire.CodeConflict, "there are %d webhooks already; delete one first",
				MaxWebhooks)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx,
			`insert into webhook_secrets (webhook_id, generation, sealed) values ($1, 1, $2)`, w.ID, encrypted)
		return err
	})
}

// List lists every webhook, oldest first.
func (s *Webhooks) List(ctx context.Context) ([]scoreboard.Webhook, error) {
	rows, err := s.db.Query(ctx, `select `+webhookColumns+fromWebhooks+` order by w.created_at, w.webhook_id`)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list webhooks: %w", err))
	}
	all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (scoreboard.Webhook, error) { return scanWebhook(r) })
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list webhooks: %w", err))
	}
	return all, nil
}

// Rotate gives a webhook another secret. Messages are signed with the previous one too for
// overlap, and with no older one.
func (s *Webhooks) Rotate(
	ctx context.Context, id string, encrypted []byte, overlap time.Duration, why *scoreboard.AuditEntry,
) (scoreboard.Webhook, error) {
	return s.change(ctx, id, "rotate", why, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, `select from webhooks where webhook_id = $1 for update`, id).Scan(); err != nil {
			if errors.Is(err, pgx.ErrNoRows) {
				return notFound(id)
			}
			return err
		}
		if _, err := tx.Exec(ctx, `with newest as (
    update webhook_secrets set retires_at = clock_timestamp() + make_interval(secs => $2)
    where webhook_id = $1 and generation = (select max(generation) from webhook_secrets where webhook_id = $1)
    returning generation)
delete from webhook_secrets where webhook_id = $1 and generation < (select generation from newest)`,
			id, overlap.Seconds()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `insert into webhook_secrets (webhook_id, generation, sealed)
select $1, max(generation) + 1, $2 from webhook_secrets where webhook_id = $1`, id, encrypted)
		return err
	})
}

// Enable lets a disabled webhook receive messages again, those that are pending first.
func (s *Webhooks) Enable(ctx context.Context, id string, why *scoreboard.AuditEntry) (scoreboard.Webhook, error) {
	return s.change(ctx, id, "enable", why, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx,
			`update webhooks set disabled_at = null, disabled_reason = null where webhook_id = $1`, id)
		return err
	})
}

// Disable stops a webhook, which keeps its pending deliveries. why is nil where the
// worker does so.
func (s *Webhooks) Disable(ctx context.Context, id, reason string, why *scoreboard.AuditEntry) error {
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `update webhooks set disabled_at = clock_timestamp(), disabled_reason = $2
where webhook_id = $1 and disabled_at is null`, id, reason)
		if err != nil || tag.RowsAffected() == 0 || why == nil {
			return err
		}
		return pg.WriteAudit(ctx, tx, why)
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("disable webhook %s: %w", id, err))
	}
	return nil
}

// Delete deletes a webhook with its deliveries, and returns it as it was; a not_found if
// there is none.
func (s *Webhooks) Delete(
	ctx context.Context, id string, why *scoreboard.AuditEntry,
) (w scoreboard.Webhook, err error) {
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		w, err = scanWebhook(tx.QueryRow(ctx, `select `+webhookColumns+fromWebhooks+` where w.webhook_id = $1
for update of w`, id))
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound(id)
		}
		if err == nil {
			_, err = tx.Exec(ctx, `delete from webhooks where webhook_id = $1`, id)
		}
		if err != nil {
			return err
		}
		return pg.WriteAudit(ctx, tx, why)
	})
	if err != nil {
		return w, pg.Translate(fmt.Errorf("delete webhook %s: %w", id, err))
	}
	return w, nil
}

// Secrets returns the encrypted secrets that messages are signed with, the newest first.
func (s *Webhooks) Secrets(ctx context.Context, id string) ([][]byte, error) {
	rows, err := s.db.Query(ctx, `select sealed from webhook_secrets
where webhook_id = $1 and coalesce(retires_at > clock_timestamp(), true) order by generation desc`, id)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the secrets of webhook %s: %w", id, err))
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the secrets of webhook %s: %w", id, err))
	}
	return all, nil
}
