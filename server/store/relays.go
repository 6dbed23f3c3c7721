package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// JoinRelays says that owner is alive for so long, and returns all relays that
// are, in the order in which they came.
func (s *Store) JoinRelays(ctx context.Context, owner string, life time.Duration) (alive []string, err error) {
	var b pgx.Batch
	b.Queue(`insert into relay_members (owner, alive_until) values ($1, clock_timestamp() + $2)
on conflict (owner) do update set alive_until = excluded.alive_until`, owner, life)
	b.Queue(`delete from relay_members where alive_until < clock_timestamp() - interval '1 minute'`)
	b.Queue(`select owner from relay_members where alive_until > clock_timestamp() order by joined_at, owner`).Query(func(rows pgx.Rows) error {
		alive, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return nil, translate(fmt.Errorf("join the relays: %w", err))
	}
	return alive, nil
}

// LeaveRelays takes owner off the list, so that others need not wait for it.
func (s *Store) LeaveRelays(ctx context.Context, owner string) error {
	if _, err := s.pool.Exec(ctx, `delete from relay_members where owner = $1`, owner); err != nil {
		return translate(fmt.Errorf("leave the relays: %w", err))
	}
	return nil
}

// OutboxShards is one more than the greatest shard of which there are rows:
// there may be some of more shards than are configured now.
func (s *Store) OutboxShards(ctx context.Context) (n int, err error) {
	var b pgx.Batch
	b.Queue("begin read only")
	b.Queue(sqlCursorPlan)
	b.Queue(`select coalesce(max(shard) + 1, 0) from outbox_score_updates`).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
	b.Queue("commit")
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return 0, translate(fmt.Errorf("count the shards of the outbox: %w", err))
	}
	return n, nil
}

// History says on which line of history the database is, and which other one
// the relays' cursors are of; empty where they are of this one.
func (s *Store) History(ctx context.Context) (now scoreboard.History, cursors string, err error) {
	const sql = `select coalesce(h, ''), case when h is null then 0 else pg_current_wal_flush_lsn() - '0/0'::pg_lsn end::bigint,
    coalesce((select min(history) from relay_shards where history <> h), '')
from store_history() as h`
	if err := s.pool.QueryRow(ctx, sql).Scan(&now.ID, &now.Position, &cursors); err != nil {
		return now, "", translate(fmt.Errorf("read the store's history: %w", err))
	}
	return now, cursors, nil
}

// AdoptHistory makes the database's history that of the relays' cursors. Every
// owner is fenced, and everything that the outbox holds is published again:
// a cursor of another history says nothing. Rows whose transaction ids are of
// another cluster would wait for this one to come there, and get its own.
func (s *Store) AdoptHistory(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		for _, sql := range []string{
			`insert into adopted_histories (history) select h from store_history() as h where h is not null`,
			`update outbox_score_updates set xid = pg_current_xact_id() where xid >= pg_snapshot_xmax(pg_current_snapshot())`,
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
		return translate(fmt.Errorf("adopt the store's history: %w", err))
	}
	return nil
}

// HistorySince is when the database's history was adopted after another one,
// or zero: what was recorded before and is not in the database is lost.
func (s *Store) HistorySince(ctx context.Context) (since time.Time, err error) {
	err = s.pool.QueryRow(ctx, `select since from adopted_histories order by since desc limit 1`).Scan(&since)
	if errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, translate(fmt.Errorf("read when the store's history began: %w", err))
	}
	return since, nil
}
