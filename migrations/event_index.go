package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/pressly/goose/v3"
)

// eventIndexVersion is the number of the migration that replaces the unique index of
// each leaf of the ledger by one that contains the space of the event. It is not a
// file of SQL: only an index that is built concurrently does not block writers, and
// that works neither in a transaction nor in a function.
const eventIndexVersion = 24

func eventIndexMigration() *goose.Migration {
	m := goose.NewGoMigration(eventIndexVersion, &goose.GoFunc{RunDB: indexEvents}, nil)
	m.Source = "00024_event_index.go"
	return m
}

const spaceExpression = "((source = 'admin'::text))"

// indexEvents replaces the index of every leaf that does not have the new one. The new
// index is valid before it takes the name of the old one, so ids are unique throughout,
// and an interrupted run can be repeated.
func indexEvents(ctx context.Context, db *sql.DB) error {
	leaves, err := ledgerLeaves(ctx, db)
	if err != nil {
		return fmt.Errorf("list the ledger's partitions: %w", err)
	}
	for leaf, indexed := range leaves {
		if err := indexLeaf(ctx, db, leaf, indexed); err != nil {
			return fmt.Errorf("index the events of %s: %w", leaf, err)
		}
	}
	return nil
}

// ledgerLeaves returns the leaves of the ledger, and of each whether it has the new
// index.
func ledgerLeaves(ctx context.Context, db *sql.DB) (map[string]bool, error) {
	rows, err := db.QueryContext(ctx, `
select c.relname, coalesce(pg_get_indexdef(to_regclass(c.relname || '_event')), '')
from pg_inherits as i join pg_class as c on c.oid = i.inhrelid
where i.inhparent = 'user_score_histories'::regclass`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	leaves := make(map[string]bool)
	for rows.Next() {
		var leaf, definition string
		if err := rows.Scan(&leaf, &definition); err != nil {
			return nil, err
		}
		leaves[leaf] = strings.Contains(definition, spaceExpression)
	}
	return leaves, rows.Err()
}

func indexLeaf(ctx context.Context, db *sql.DB, leaf string, indexed bool) error {
	run := func(on interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}, statements ...string,
	) error {
		for _, s := range statements {
			if _, err := on.ExecContext(ctx, fmt.Sprintf(s, leaf)); err != nil {
				return err
			}
		}
		return nil
	}
	const dropOld = `drop index concurrently if exists "%[1]s_event_old"`
	if indexed {
		return run(db, dropOld) // a run that was interrupted may have left it
	}
	if err := run(
		db, `drop index concurrently if exists "%[1]s_event_new"`,
		`create unique index concurrently "%[1]s_event_new"
    on "%[1]s" (user_id, event_id, board_id, (source = 'admin'))`,
	); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // without effect after the commit
	if err := run(
		tx, `alter index "%[1]s_event" rename to "%[1]s_event_old"`,
		`alter index "%[1]s_event_new" rename to "%[1]s_event"`,
	); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return run(db, dropOld)
}
