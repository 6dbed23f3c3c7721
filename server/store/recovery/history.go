package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// History returns the database's history, and the one that the relays' cursors
// belong to if it differs.
func (r *Recovery) History(ctx context.Context) (now scoreboard.History, cursors string, err error) {
	const sql = `select coalesce(h, ''), case when h is null then 0
else pg_current_wal_flush_lsn() - '0/0'::pg_lsn end::bigint,
    coalesce((select (extract(epoch from max(since)) * 1000000)::bigint from adopted_histories), 0),
    (select mark from history_mark), coalesce((select min(history) from relay_shards where history <> h), '')
from store_history() as h`
	if err := r.db.QueryRow(ctx, sql).Scan(&now.ID, &now.Position, &now.Adopted, &now.Checks, &cursors); err != nil {
		return now, "", pg.Translate(fmt.Errorf("read the store's history: %w", err))
	}
	return now, cursors, nil
}

// CountCheck counts a check of the history and returns it once it is durable.
func (r *Recovery) CountCheck(ctx context.Context) (checks int64, err error) {
	if err := r.db.QueryRow(ctx, `update history_mark set mark = mark + 1 returning mark`).Scan(&checks); err != nil {
		return 0, pg.Translate(fmt.Errorf("count a check of the store's history: %w", err))
	}
	return checks, nil
}

// AdoptHistory moves the relays' cursors to the database's history, now, in place of
// before. It fences every owner and publishes the whole outbox again, because a
// cursor of another history has no meaning. Rows with transaction ids of another
// cluster get this transaction's id; they would otherwise wait until this cluster
// reaches theirs. The audit entry is written in the same transaction; its detail
// names both histories.
//
// It returns a conflict, and changes nothing, if the database's history is no
// longer now: another process has adopted it meanwhile.
func (r *Recovery) AdoptHistory(ctx context.Context, now, before scoreboard.History, why *scoreboard.AuditEntry) error {
	detail, err := json.Marshal(map[string]string{"before": before.String(), "now": now.String()})
	if err != nil {
		return err
	}
	entry := *why
	entry.Detail = detail
	err = pgx.BeginFunc(ctx, r.db, func(tx pgx.Tx) error {
		// One adoption at a time; writers and relays are not blocked.
		if _, err := tx.Exec(ctx, `lock table adopted_histories in share row exclusive mode`); err != nil {
			return err
		}
		// Later than every adoption that the ranking knows of, even by a clock that is behind.
		tag, err := tx.Exec(ctx, `insert into adopted_histories (history, since)
select h, greatest(clock_timestamp(), to_timestamp(0) + ($3::bigint + 1) * interval '1 microsecond')
from store_history() as h
where h = $1 and $2::bigint = coalesce((select (extract(epoch from max(since)) * 1000000)::bigint
    from adopted_histories), 0)`, now.ID, now.Adopted, max(before.Adopted, now.Adopted))
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return scoreboard.Errorf(wire.CodeConflict, "another process has adopted the database's history")
		}
		for _, sql := range []string{
			`update outbox_score_updates set xid = pg_current_xact_id()
where xid >= pg_snapshot_xmax(pg_current_snapshot())`,
			`update relay_shards set history = store_history(), generation = generation + 1, lease_until = '-infinity',
    cursor_xid = '0', cursor_id = 0, attempts = 0, last_error = null`,
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return pg.WriteAudit(ctx, tx, &entry)
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("adopt the store's history: %w", err))
	}
	return nil
}

// Partitions reads over how many keys of Redis a board is to be spread.
func (r *Recovery) Partitions(ctx context.Context, board scoreboard.BoardID) (n int, err error) {
	err = r.db.QueryRow(ctx, `select coalesce((select partitions from boards where board_id = $1), 1)`, board).Scan(&n)
	if err != nil {
		return 0, pg.Translate(fmt.Errorf("read the partitions of board %s: %w", board, err))
	}
	return n, nil
}

// A rebuild waits up to settleTimeout until the transactions that are older than
// the adoption have ended, and asks every settlePoll. Writers are shorter.
const (
	settleTimeout = 5 * time.Second
	settlePoll    = 20 * time.Millisecond
)

// HistorySince returns when the database's history was adopted after another one,
// or zero. Earlier changes that are not in the database are lost: once it returns,
// every transaction that may have recorded an earlier change has ended, so that a
// snapshot taken from then on has them all. It returns an unavailable if one is
// still running after settleTimeout.
func (r *Recovery) HistorySince(ctx context.Context) (since time.Time, err error) {
	// A transaction gets its id before it takes the time of its changes, so those with
	// a greater id than the adoption's have recorded theirs after it. Of another
	// history, no transaction is left.
	const sql = `select since, xid < pg_snapshot_xmin(pg_current_snapshot()) or history <> coalesce(store_history(), '')
from adopted_histories order by since desc limit 1`
	for deadline := time.Now().Add(settleTimeout); ; {
		var settled bool
		err = r.db.QueryRow(ctx, sql).Scan(&since, &settled)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return time.Time{}, nil
		case err != nil:
			return time.Time{}, pg.Translate(fmt.Errorf("read when the store's history began: %w", err))
		case settled:
			return since, nil
		case time.Now().After(deadline):
			return time.Time{}, &scoreboard.Error{
				Code: wire.CodeUnavailable, RetryAfter: time.Second,
				Message: "a transaction in PostgreSQL is older than the adoption of its history and still running; " +
					"end it (pg_stat_activity, pg_prepared_xacts)",
			}
		}
		select {
		case <-time.After(settlePoll):
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
}
