package corrections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

const flagColumns = `id, rule, mode, user_id, board_id, event_id, event_text, delta, detail, state, times, created_at,
last_at,
    coalesce(decided_by, ''), coalesce(decided_at, '0001-01-01T00:00:00Z'), coalesce(reason, '')`

func scanFlag(row pgx.Row) (f scoreboard.Flag, err error) {
	err = row.Scan(
		&f.ID,
		&f.Rule,
		&f.Mode,
		&f.User,
		&f.Board,
		&f.Event.UUID,
		&f.Event.Text,
		&f.Delta,
		&f.Detail,
		&f.State,
		&f.Times,
		&f.CreatedAt,
		&f.LastAt,
		&f.DecidedBy,
		&f.DecidedAt,
		&f.Reason,
	)
	for _, t := range []*time.Time{&f.CreatedAt, &f.LastAt, &f.DecidedAt} {
		*t = t.UTC()
	}
	return f, err
}

// ListFlags lists at most limit flags in a state ("" for all) after an id, oldest
// first.
func (m *Moderation) ListFlags(
	ctx context.Context,
	state string,
	user scoreboard.UserID,
	after int64,
	limit int,
) ([]scoreboard.Flag, error) {
	rows, err := m.db.Query(ctx, `select `+flagColumns+` from flags
where ($1 = '' or state = $1) and ($2 = '' or user_id = $2) and id > $3 order by id limit $4`,
		state, user, after, limit)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list flags: %w", err))
	}
	flags, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (scoreboard.Flag, error) { return scanFlag(row) })
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list flags: %w", err))
	}
	return flags, nil
}

// Flag returns one flag, or a not_found.
func (m *Moderation) Flag(ctx context.Context, id int64) (*scoreboard.Flag, error) {
	f, err := scanFlag(m.db.QueryRow(ctx, `select `+flagColumns+` from flags where id = $1`, id))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "flag %d not found", id)
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read flag %d: %w", id, err))
	}
	return &f, nil
}

// DecideFlag dismisses or confirms a flag. Repeating the decision changes nothing;
// the opposite one is a conflict.
func (m *Moderation) DecideFlag(
	ctx context.Context,
	id int64,
	state string,
	audit *scoreboard.AuditEntry,
) (*scoreboard.Flag, error) {
	var f scoreboard.Flag
	err := pgx.BeginFunc(ctx, m.db, func(tx pgx.Tx) (err error) {
		f, err = scanFlag(tx.QueryRow(ctx, `select `+flagColumns+` from flags where id = $1 for update`, id))
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return scoreboard.Errorf(wire.CodeNotFound, "flag %d not found", id)
		case err != nil || f.State == state:
			return err
		case f.State != "open":
			return scoreboard.Errorf(wire.CodeConflict, "flag %d is %s", id, f.State)
		}
		f, err = scanFlag(
			tx.QueryRow(ctx, `update flags set state = $2, decided_by = $3, decided_at = clock_timestamp(), reason = $4
where id = $1 returning `+flagColumns, id, state, audit.Actor, audit.Reason),
		)
		if err != nil {
			return err
		}
		return pg.WriteAudit(ctx, tx, audit)
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("decide flag %d: %w", id, err))
	}
	return &f, nil
}
