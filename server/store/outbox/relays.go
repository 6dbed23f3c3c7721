package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// JoinRelays registers owner as alive for ttl, and returns all relays that are
// alive, in the order in which they joined. One that would be alive for much longer
// was registered before the clock went back, and is not.
func (o *Outbox) JoinRelays(ctx context.Context, owner string, ttl time.Duration) (alive []string, err error) {
	var b pgx.Batch
	b.Queue(`insert into relay_members (owner, alive_until) values ($1, clock_timestamp() + $2::interval)
on conflict (owner) do update set alive_until = excluded.alive_until`, owner, ttl)
	b.Queue(`delete from relay_members where alive_until < clock_timestamp() - interval '1 minute'
    or alive_until > clock_timestamp() + 10 * $1::interval`, ttl)
	b.Queue(`select owner from relay_members where alive_until > clock_timestamp() order by joined_at, owner`).
		Query(func(rows pgx.Rows) error {
			alive, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
	if err := o.db.SendBatch(ctx, &b).Close(); err != nil {
		return nil, pg.Translate(fmt.Errorf("register the relay: %w", err))
	}
	return alive, nil
}

// LeaveRelays removes owner from the list, so that others need not wait for it.
func (o *Outbox) LeaveRelays(ctx context.Context, owner string) error {
	if _, err := o.db.Exec(ctx, `delete from relay_members where owner = $1`, owner); err != nil {
		return pg.Translate(fmt.Errorf("unregister the relay: %w", err))
	}
	return nil
}

// OutboxShards is one more than the highest shard that has rows, which may exceed
// the configured number.
func (o *Outbox) OutboxShards(ctx context.Context) (n int, err error) {
	var b pgx.Batch
	b.Queue("begin read only")
	b.Queue(sqlCursorPlan)
	b.Queue(`select coalesce(max(shard) + 1, 0) from outbox_score_updates`).
		QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
	b.Queue("commit")
	if err := o.db.SendBatch(ctx, &b).Close(); err != nil {
		return 0, pg.Translate(fmt.Errorf("count the shards of the outbox: %w", err))
	}
	return n, nil
}
