// Package outbox is the queue of committed changes: leases and cursors of the
// relays on its shards, its partitions and its status.
package outbox

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

// Outbox is the outbox table.
type Outbox struct{ db *pg.DB }

// New returns an Outbox over db.
func New(db *pg.DB) *Outbox { return &Outbox{db} }

const (
	// Plans that read or sort a whole partition look cheap while it is small, and
	// are kept when it is large. What is off makes plans look expensive, which would have
	// PostgreSQL compile them.
	// The time is read before the snapshot, so changes that commit in between are
	// not claimed to be in it.
	sqlCursorPlan = `select clock_timestamp(), set_config('enable_seqscan', 'off', true),
set_config('enable_bitmapscan', 'off', true),
       set_config('enable_sort', 'off', true), set_config('jit', 'off', true)`

	sqlHorizon = `select pg_snapshot_xmin(s), pg_snapshot_xmax(s) from pg_current_snapshot() as s`

	sqlOutboxPage = `select xid, id, event_type, event_id, user_id, board_id, score, previous_score, delta, order_key,
    version, revision, reached_at, recorded_at, hidden, coalesce(trace, ''), coalesce(subscore, 0), coalesce(sub_key, 0)
from outbox_score_updates
where shard = $1 and (xid, id) > ($2::xid8, $3) and xid < pg_snapshot_xmin(pg_current_snapshot())
order by xid, id limit $4`
)

// OutboxPage returns at most limit rows of a shard after a cursor, in cursor
// order, and none that a running transaction could still precede.
func (o *Outbox) OutboxPage(
	ctx context.Context,
	shard int,
	after scoreboard.Cursor,
	limit int,
) (page scoreboard.OutboxPage, err error) {
	var b pgx.Batch
	before := time.Now()
	b.Queue("begin read only")
	b.Queue(sqlCursorPlan).QueryRow(func(row pgx.Row) error { return row.Scan(&page.At, nil, nil, nil, nil) })
	b.Queue(sqlHorizon).QueryRow(func(row pgx.Row) error { return row.Scan(&page.Settled, &page.Next) })
	b.Queue(sqlOutboxPage, shard, after.XID, after.ID, limit).Query(func(rows pgx.Rows) error {
		return pg.ForEach(rows, func() error {
			var r scoreboard.OutboxRow
			err := rows.Scan(
				&r.Cursor.XID,
				&r.Cursor.ID,
				&r.Type,
				&r.Event,
				&r.User,
				&r.Board,
				&r.Score,
				&r.Previous,
				&r.Delta,
				&r.Key,
				&r.Version,
				&r.Revision,
				&r.ReachedAt,
				&r.RecordedAt,
				&r.Hidden,
				&r.Trace,
				&r.Subscore,
				&r.SubKey,
			)
			page.Rows = append(page.Rows, r)
			return err
		})
	})
	b.Queue("commit")
	err = o.db.SendBatch(ctx, &b).Close()
	if err != nil {
		return page, pg.Translate(fmt.Errorf("read shard %d of the outbox: %w", shard, err))
	}
	page.At = pg.AsOf(page.At, before)
	return page, nil
}

// ClaimShard takes or renews the lease of a shard for owner and returns its
// generation and cursor; ok is false while another owner holds it. Taking a free
// shard increments its generation, which fences the previous owner. A lease that ends
// much later than a new one would was taken before the clock went back, and is free.
// A cursor from another history than the database's is a conflict.
func (o *Outbox) ClaimShard(
	ctx context.Context,
	shard int,
	owner string,
	ttl time.Duration,
) (generation int64, at scoreboard.Cursor, ok bool, err error) {
	const sql = `insert into relay_shards as r (shard, owner, generation, lease_until, history)
values ($1, $2, 1, clock_timestamp() + $3::interval, store_history())
on conflict (shard) do update set owner = $2, lease_until = clock_timestamp() + $3::interval,
    history = coalesce(r.history, excluded.history),
    generation = r.generation + case when r.owner = $2 and r.lease_until > clock_timestamp() then 0 else 1 end
where r.owner = $2 or r.lease_until not between clock_timestamp() and clock_timestamp() + 10 * $3::interval
returning generation, cursor_xid, cursor_id, coalesce(history <> store_history(), false)`
	var another bool
	err = o.db.QueryRow(ctx, sql, shard, owner, ttl).Scan(&generation, &at.XID, &at.ID, &another)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, at, false, nil
	}
	if err != nil {
		return 0, at, false, pg.Translate(fmt.Errorf("claim shard %d of the outbox: %w", shard, err))
	}
	if another {
		return generation, at, false, scoreboard.Errorf(
			wire.CodeConflict,
			"shard %d: PostgreSQL's history changed (restored, or another database); "+
				"run sbctl rebuild --all to rebuild every ranking from it",
			shard,
		)
	}
	return generation, at, true, nil
}

// AdvanceShard moves a shard's cursor; ok is false if generation is no longer the
// shard's.
func (o *Outbox) AdvanceShard(
	ctx context.Context,
	shard int,
	generation int64,
	to scoreboard.Cursor,
) (ok bool, err error) {
	tag, err := o.db.Exec(ctx, `update relay_shards set cursor_xid = $3, cursor_id = $4, attempts = 0, last_error = null
where shard = $1 and generation = $2`, shard, generation, to.XID, to.ID)
	if err != nil {
		return false, pg.Translate(fmt.Errorf("move the cursor of shard %d: %w", shard, err))
	}
	return tag.RowsAffected() == 1, nil
}

// RecordFailure stores how often the row after a shard's cursor was tried, and the
// last error.
func (o *Outbox) RecordFailure(ctx context.Context, shard int, generation int64, attempts int, reason string) error {
	_, err := o.db.Exec(
		ctx,
		`update relay_shards set attempts = $3, last_error = $4 where shard = $1 and generation = $2`,
		shard,
		generation,
		attempts,
		reason,
	)
	if err != nil {
		return pg.Translate(fmt.Errorf("record a failure of shard %d: %w", shard, err))
	}
	return nil
}

// MoveToDeadLetters stores the row at a cursor, which the transport rejects, as a
// dead letter, and moves the cursor of the letter's shard past it, atomically; ok is
// false if generation is no longer the shard's.
func (o *Outbox) MoveToDeadLetters(
	ctx context.Context, generation int64, row scoreboard.Cursor, letter *scoreboard.DeadLetter,
) (ok bool, err error) {
	const sql = `with moved as (
    update relay_shards set cursor_xid = $3, cursor_id = $4, attempts = 0, last_error = null
    where shard = $1 and generation = $2 returning shard
), letter as (
    insert into dead_letters (topic, partition, record_offset, value, reason, attempts)
    select $5, shard, $6, $7, $8, $9 from moved on conflict do nothing
)
select count(*) = 1 from moved`
	err = o.db.QueryRow(ctx, sql, letter.Partition, generation, row.XID, row.ID, letter.Topic, letter.Offset,
		letter.Value, letter.Reason, letter.Attempts).Scan(&ok)
	if err != nil {
		return false, pg.Translate(fmt.Errorf("store row %d of shard %d as a dead letter: %w",
			row.ID, letter.Partition, err))
	}
	return ok, nil
}

// ReleaseShard ends a lease early, so that another relay need not wait for it.
func (o *Outbox) ReleaseShard(ctx context.Context, shard int, generation int64) error {
	_, err := o.db.Exec(
		ctx,
		`update relay_shards set lease_until = '-infinity' where shard = $1 and generation = $2`,
		shard,
		generation,
	)
	if err != nil {
		return pg.Translate(fmt.Errorf("release shard %d: %w", shard, err))
	}
	return nil
}
