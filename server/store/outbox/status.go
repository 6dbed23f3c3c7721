package outbox

import (
	"context"
	"fmt"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// OutboxStatus returns the number of waiting rows, the age of the oldest, and the
// relays.
func (o *Outbox) OutboxStatus(ctx context.Context) (*scoreboard.OutboxStatus, error) {
	status := &scoreboard.OutboxStatus{}
	rows, err := o.db.Query(
		ctx,
		`select shard, coalesce(owner, ''), generation, greatest(lease_until, '2000-01-01') - clock_timestamp(),
    cursor_xid, cursor_id, attempts, coalesce(last_error, ''), depth, coalesce(clock_timestamp() - oldest_at, '0')
from outbox_status order by shard`,
	)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the outbox's status: %w", err))
	}
	err = pg.ForEach(rows, func() error {
		var w scoreboard.ShardStatus
		err := rows.Scan(
			&w.Shard,
			&w.Owner,
			&w.Generation,
			&w.LeaseLeft,
			&w.Cursor.XID,
			&w.Cursor.ID,
			&w.Attempts,
			&w.LastError,
			&w.Depth,
			&w.OldestAge,
		)
		if w.LeaseLeft < 0 {
			w.Owner = ""
		}
		status.Shards = append(status.Shards, w)
		return err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the outbox's status: %w", err))
	}
	// Prepared transactions hold back the horizon, too. A role sees the transactions of its
	// own sessions only: these are this role's, and the owner's.
	const horizon = `select coalesce(clock_timestamp() - min(since), '0') from (
    select xact_start as since from pg_stat_activity where backend_xid is not null and pid <> pg_backend_pid()
    union all select oldest_transaction()) as t`
	if err := o.db.QueryRow(ctx, horizon).Scan(&status.HorizonAge); err != nil {
		return nil, pg.Translate(fmt.Errorf("read the age of the horizon: %w", err))
	}
	status.Partitions, err = o.outboxPartitions(ctx)
	return status, err
}
