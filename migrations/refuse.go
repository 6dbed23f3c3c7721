package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// refuse returns why the database must not be migrated: a build before 1.0.0 migrated it, it belongs to
// another program, or it does not say which migrations it has. Nothing was written to it then.
func refuse(ctx context.Context, db *sql.DB) error {
	// One statement: another process can create the schema at the same time.
	const look = `select to_regclass('goose_db_version') is not null, coalesce(string_agg(name, ', '), '')
from (
    select c.relname as name
    from pg_class as c
    where c.relnamespace = (select oid from pg_namespace where nspname = current_schema())
      and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and not exists (
        select from pg_depend
        where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e' -- of an extension
      )
    order by c.relname
    limit 3
) as found`
	var migrated bool
	var tables string
	if err := db.QueryRowContext(ctx, look).Scan(&migrated, &tables); err != nil {
		return fmt.Errorf("look for applied migrations: %w", err)
	}
	if !migrated {
		if tables != "" {
			return fmt.Errorf("the database has tables or views of another program (%s): use an empty database", tables)
		}
		return nil
	}
	var rows, number int64
	const newest = `
select count(*), coalesce(max(version_id) filter (where version_id between 1 and $1), 0) from goose_db_version`
	if err := db.QueryRowContext(ctx, newest, baseline-1).Scan(&rows, &number); err != nil {
		return fmt.Errorf("read the applied migrations: %w", err)
	}
	switch {
	case number > 0:
		return &EarlierBuildError{number}
	case rows == 0:
		return errors.New("the table goose_db_version is empty, so the applied migrations are unknown: " +
			"restore a complete backup, or use an empty database")
	}
	return nil
}
