package operations

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Messages lists at most limit messages of the types in the outbox, oldest first. Those of
// other types are of a newer version.
func (s *Webhooks) Messages(
	ctx context.Context, types []scoreboard.WebhookType, limit int,
) ([]scoreboard.WebhookMessage, error) {
	rows, err := s.db.Query(ctx, `select id, type, board_id, coalesce(flag_id, 0), occurred_at from webhook_messages
where type = any ($1) order by id limit $2`, types, limit)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the outbox of webhooks: %w", err))
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (m scoreboard.WebhookMessage, err error) {
		err = row.Scan(&m.ID, &m.Type, &m.Board, &m.Flag, &m.Occurred)
		m.Occurred = m.Occurred.UTC()
		return m, err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the outbox of webhooks: %w", err))
	}
	return all, nil
}

// Deliver moves a message from the outbox to the deliveries of webhooks, in one transaction. It does nothing if another
// process has moved the message, or if a user whom the payload names was erased since, or on a message about a board,
// banned or made private: the message then stays in the outbox.
func (s *Webhooks) Deliver(
	ctx context.Context, m *scoreboard.WebhookMessage, id, payload string, users []scoreboard.UserID,
	webhooks []string,
) error {
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		locked, err := lockNames(ctx, tx, users)
		if err != nil || locked.erased() || m.Type == scoreboard.WebhookSeasonClosed && locked.absent() {
			return err
		}
		tag, err := tx.Exec(ctx, `delete from webhook_messages where id = $1`, m.ID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return queue(ctx, tx, locked, m.Type, []message{{id, payload}}, webhooks)
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("queue the deliveries of %s: %w", m.Type, err))
	}
	return nil
}

// Test queues a delivery to one webhook; a conflict if it is disabled.
func (s *Webhooks) Test(
	ctx context.Context, id, message, payload string, why *scoreboard.AuditEntry,
) (d scoreboard.WebhookDelivery, err error) {
	_, err = s.change(ctx, id, "test", why, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `insert into webhook_deliveries (webhook_id, message_id, type, payload)
select webhook_id, $2, $3, $4 from webhooks where webhook_id = $1 and disabled_at is null for key share
returning `+deliveryColumns, id, message, scoreboard.WebhookTest, payload)
		if err != nil {
			return err
		}
		d, err = pgx.CollectExactlyOneRow(rows, scanDelivery)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err := tx.QueryRow(ctx, `select from webhooks where webhook_id = $1`, id).Scan(); err != nil {
			return nil // change reports that there is no such webhook
		}
		return scoreboard.Errorf(wire.CodeConflict, "webhook %s is disabled; enable it first", id)
	})
	return d, err
}

// Top returns the users in the top of a board when a webhook last compared it; nil if it
// never did.
func (s *Webhooks) Top(
	ctx context.Context, webhook string, board scoreboard.BoardID,
) (*scoreboard.WebhookTop, error) {
	var t scoreboard.WebhookTop
	err := s.db.QueryRow(ctx, `select users, compared from webhook_tops where webhook_id = $1 and board_id = $2`,
		webhook, board).Scan(&t.Users, &t.Compared)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // documented
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the top of board %s for webhook %s: %w", board, webhook, err))
	}
	return &t, nil
}

// SaveTop replaces what a webhook compares a board with, and queues messages for it, in
// one transaction, except about users who have left the board meanwhile. It returns false, and does nothing, if another
// process has replaced before meanwhile, which is nil for the first time, or if one of the users was erased.
func (s *Webhooks) SaveTop(
	ctx context.Context, webhook string, board scoreboard.BoardID, before *scoreboard.WebhookTop,
	users []scoreboard.UserID, messages []scoreboard.WebhookUserMessage,
) (saved bool, err error) {
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		saved = false
		locked, err := lockNames(ctx, tx, users)
		if err != nil || locked.erased() {
			return err
		}
		sql, args := `insert into webhook_tops (webhook_id, board_id, users)
select webhook_id, $2, $3 from webhooks where webhook_id = $1 for key share on conflict do nothing`,
			[]any{webhook, board, users}
		if before != nil {
			sql, args = `update webhook_tops set users = $3, compared = compared + 1
where webhook_id = $1 and board_id = $2 and compared = $4`, append(args, before.Compared)
		}
		tag, err := tx.Exec(ctx, sql, args...)
		if saved = tag.RowsAffected() == 1; err != nil || !saved {
			return err
		}
		var about []message
		for _, m := range messages {
			if locked[m.User] == shown {
				about = append(about, message{m.ID, m.Payload})
			}
		}
		return queue(ctx, tx, locked, scoreboard.WebhookRankReached, about, []string{webhook})
	})
	if err != nil {
		return false, pg.Translate(fmt.Errorf("store the top of board %s for webhook %s: %w", board, webhook, err))
	}
	return saved, nil
}
