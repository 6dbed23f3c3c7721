package operations

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Archive is the partitioned ledger.
type Archive struct {
	db     *pg.DB
	window scoreboard.Window
}

// NewArchive returns an Archive over db. Partitions within the window stay.
func NewArchive(db *pg.DB, window scoreboard.Window) *Archive { return &Archive{db, window} }

// ddlWait bounds how long a change of partitions blocks writers.
const ddlWait = 200 * time.Millisecond

// Partitions within the window are never old, however short the retention is. The view
// leaves out those of the shortest window, which the owner's functions never detach.
const sqlOldPartitions = `select name, starts, ends, attached from archivable_partitions
where ends <= clock_timestamp() - $1::interval and ends <= $2 order by name`

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

// Detached lists the names of the partitions that were archived and are not part of the ledger
// any more, oldest first.
func (a *Archive) Detached(ctx context.Context) ([]string, error) {
	rows, err := a.db.Query(ctx, `select distinct substr(target, length('ledger:') + 1) as name from audit_log
where action = 'ledger.detach' order by name`)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list archived partitions: %w", err))
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list archived partitions: %w", err))
	}
	return names, nil
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
			return scoreboard.Errorf(wire.CodeConflict, "another process is archiving the ledger")
		}
		if _, err := tx.Exec(ctx, `select open_ledger_partition('archive', $1)`, p.Name); err != nil {
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
// returns a conflict otherwise. It blocks writers for at most ddlWait, and leaves an
// entry in the audit trail.
func (a *Archive) DetachPartition(ctx context.Context, p scoreboard.Partition, rows int64) error {
	err := a.db.InSchemaTx(ctx, ddlWait, func(tx pgx.Tx) error {
		var there int64
		if err := tx.QueryRow(ctx, `select detach_ledger_partition($1, $2)`, p.Name, rows).Scan(&there); err != nil {
			return err
		}
		if there != rows {
			return scoreboard.Errorf(
				wire.CodeConflict,
				"partition %s has %d rows, its archive %d",
				p.Name,
				there,
				rows,
			)
		}
		return nil
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("detach partition %s: %w", p.Name, err))
	}
	return nil
}

// DropPartition drops a detached partition.
func (a *Archive) DropPartition(ctx context.Context, p scoreboard.Partition) error {
	err := a.db.InSchemaTx(ctx, ddlWait, func(tx pgx.Tx) error {
		var gone bool
		if err := tx.QueryRow(ctx, `select drop_ledger_partition($1)`, p.Name).Scan(&gone); err != nil {
			return err
		}
		if !gone {
			return scoreboard.Errorf(wire.CodeConflict, "partition %s is still attached to the ledger", p.Name)
		}
		return nil
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("drop partition %s: %w", p.Name, err))
	}
	return nil
}
