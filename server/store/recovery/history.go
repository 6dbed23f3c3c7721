package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// History returns the database's history, and the one that the relays' cursors
// belong to if it differs.
func (r *Recovery) History(ctx context.Context) (now scoreboard.History, cursors string, err error) {
	const sql = `select coalesce(h, ''), case when h is null then 0
else pg_current_wal_flush_lsn() - '0/0'::pg_lsn end::bigint,
    coalesce((select min(history) from relay_shards where history <> h), '')
from store_history() as h`
	if err := r.db.QueryRow(ctx, sql).Scan(&now.ID, &now.Position, &cursors); err != nil {
		return now, "", pg.Translate(fmt.Errorf("read the store's history: %w", err))
	}
	return now, cursors, nil
}

// AdoptHistory moves the relays' cursors to the database's history. It fences every
// owner and publishes the whole outbox again, because a cursor of another history
// has no meaning. Rows with transaction ids of another cluster get this
// transaction's id; they would otherwise wait until this cluster reaches theirs.
func (r *Recovery) AdoptHistory(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, r.db, func(tx pgx.Tx) error {
		for _, sql := range []string{
			`insert into adopted_histories (history) select h from store_history() as h where h is not null`,
			`update outbox_score_updates set xid = pg_current_xact_id()
where xid >= pg_snapshot_xmax(pg_current_snapshot())`,
			`update relay_shards set history = store_history(), generation = generation + 1, lease_until = '-infinity',
    cursor_xid = '0', cursor_id = 0, attempts = 0, last_error = null`,
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("adopt the store's history: %w", err))
	}
	return nil
}

// HistorySince returns when the database's history was adopted after another one,
// or zero. Earlier changes that are not in the database are lost.
func (r *Recovery) HistorySince(ctx context.Context) (since time.Time, err error) {
	err = r.db.QueryRow(ctx, `select since from adopted_histories order by since desc limit 1`).Scan(&since)
	if errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, pg.Translate(fmt.Errorf("read when the store's history began: %w", err))
	}
	return since, nil
}
