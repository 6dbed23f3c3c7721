// Package archive lists, reads, detaches and drops old partitions of the ledger.
package archive

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Archive is the partitioned ledger.
type Archive struct {
	db     *pg.DB
	window scoreboard.Window
}

// New returns an Archive over db. Partitions within the window stay.
func New(db *pg.DB, window scoreboard.Window) *Archive { return &Archive{db, window} }

// ddlWait bounds how long a change of partitions blocks writers.
const ddlWait = 200 * time.Millisecond

// Partitions within the deduplication window are never old, however short the
// retention is.
const sqlOldPartitions = `select name, starts at time zone 'UTC', ends at time zone 'UTC', attached
from (
    select c.relname::text as name, to_date(right(c.relname, 8), 'YYYYMMDD')::timestamp as starts,
        to_date(right(c.relname, 8), 'YYYYMMDD')::timestamp + interval '1 month' as ends,
        exists (select from pg_inherits i where i.inhrelid = c.oid and i.inhparent = parent.oid) as attached
    from pg_class parent join pg_class c on c.relnamespace = parent.relnamespace
    where parent.oid = 'user_score_histories'::regclass and c.relkind = 'r'
        and c.relname ~ '^user_score_histories_[0-9]{8}$'
) as p
where ends at time zone 'UTC' <= clock_timestamp() - $1::interval
  and ends at time zone 'UTC' <= $2
order by name`

// OldPartitions lists the partitions of the ledger whose last row is older than
// keep, oldest first, including those that are detached but not dropped.
func (a *Archive) OldPartitions(ctx context.Context, keep time.Duration) ([]scoreboard.Partition, error) {
	rows, err := a.db.Query(ctx, sqlOldPartitions, keep, a.window.Since(time.Now()))
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list old partitions of the ledger: %w", err))
	}
	old, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p scoreboard.Partition, err error) {
		err = row.Scan(&p.Name, &p.From, &p.To, &p.Attached)
		p.From, p.To = p.From.UTC(), p.To.UTC()
		return p, err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list old partitions of the ledger: %w", err))
	}
	return old, nil
}

// ReadPartition calls do with every row of a partition as a line of JSON (all
// columns by name, times in UTC), in chunks of at most size, from one snapshot. It
// returns a conflict if another process is archiving.
func (a *Archive) ReadPartition(
	ctx context.Context,
	p scoreboard.Partition,
	size int,
	do func(lines []string) error,
) error {
	err := pgx.BeginTxFunc(ctx, a.db, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		var mine bool
		err := tx.QueryRow(ctx, `select pg_try_advisory_xact_lock(hashtextextended('ledger archive', 0)),
set_config('timezone', 'UTC', true)`).
			Scan(&mine, nil)
		if err != nil {
			return err
		}
		if !mine {
			return scoreboard.Errorf(scoreboard.CodeConflict, "another process is archiving the ledger")
		}
		// A table's name cannot be a parameter.
		_, err = tx.Exec(
			ctx,
			`declare archive no scroll cursor for select row_to_json(h)::text from `+pgx.Identifier{
				p.Name,
			}.Sanitize()+` as h`,
		)
		if err != nil {
			return err
		}
		for {
			rows, err := tx.Query(ctx, fmt.Sprintf("fetch %d from archive", size)) // fetch takes no parameter
			if err != nil {
				return err
			}
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil || len(lines) == 0 {
				return err
			}
			if err := do(lines); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("read partition %s: %w", p.Name, err))
	}
	return nil
}

// DetachPartition detaches a partition if it holds exactly that many rows, and
// returns a conflict otherwise. It blocks writers for at most ddlWait.
func (a *Archive) DetachPartition(ctx context.Context, p scoreboard.Partition, rows int64) error {
	leaf := pgx.Identifier{p.Name}.Sanitize()
	err := a.db.InSchemaTx(ctx, ddlWait, func(tx pgx.Tx) error {
		// Blocks rows that arrive late. Users of other partitions do not wait while
		// these rows are counted.
		if _, err := tx.Exec(ctx, `lock table `+leaf+` in share row exclusive mode`); err != nil {
			return err
		}
		var there int64
		if err := tx.QueryRow(ctx, `select count(*) from `+leaf).Scan(&there); err != nil {
			return err
		}
		if there != rows {
			return scoreboard.Errorf(
				scoreboard.CodeConflict,
				"partition %s has %d rows, its archive %d",
				p.Name,
				there,
				rows,
			)
		}
		_, err := tx.Exec(ctx, `alter table user_score_histories detach partition `+leaf)
		return err
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("detach partition %s: %w", p.Name, err))
	}
	return nil
}

// DropPartition drops a detached partition.
func (a *Archive) DropPartition(ctx context.Context, p scoreboard.Partition) error {
	err := a.db.InSchemaTx(ctx, ddlWait, func(tx pgx.Tx) error {
		var attached bool
		err := tx.QueryRow(ctx, `select exists (select from pg_inherits where inhrelid = to_regclass($1))`, p.Name).
			Scan(&attached)
		if err != nil {
			return err
		}
		if attached {
			return scoreboard.Errorf(scoreboard.CodeConflict, "partition %s is still attached to the ledger", p.Name)
		}
		_, err = tx.Exec(ctx, `drop table if exists `+pgx.Identifier{p.Name}.Sanitize())
		return err
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("drop partition %s: %w", p.Name, err))
	}
	return nil
}
