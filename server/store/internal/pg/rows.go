package pg

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ForEach calls do for every row and closes rows.
func ForEach(rows pgx.Rows, do func() error) error {
	defer rows.Close()
	for rows.Next() {
		if err := do(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// PlanByIndex has the queries of a transaction read a page in the order of an index. While PostgreSQL does
// not know how many rows there are, as after an import of a popular user's friends, it would read and sort
// all of them.
const PlanByIndex = `select set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
    set_config('enable_material', 'off', true), set_config('enable_mergejoin', 'off', true),
    set_config('jit', 'off', true)`

// sqlReadAll has a query planned as one that is read to its end, and that may hash the
// users of a board in memory.
const sqlReadAll = `select set_config('cursor_tuple_fraction', '1', true), set_config('work_mem', '64MB', true)`

// InChunks calls do with the result of a query, in chunks of at most size, from
// one snapshot and in constant memory. Each query needs its own cursor name,
// because pgx caches the columns of a fetch by that name.
func InChunks[T any](
	ctx context.Context,
	db *DB,
	name string,
	size int,
	scan pgx.RowToFunc[T],
	do func([]T) error,
	query string,
	args ...any,
) error {
	return pgx.BeginTxFunc(ctx, db, Snapshot, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlReadAll); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "declare "+name+" no scroll cursor for "+query, args...); err != nil {
			return err
		}
		chunk := make([]T, 0, size)
		for {
			rows, err := tx.Query(ctx, fmt.Sprintf("fetch %d from %s", size, name)) // fetch takes no parameter
			if err != nil {
				return err
			}
			if chunk, err = pgx.AppendRows(chunk[:0], rows, scan); err != nil || len(chunk) == 0 {
				return err
			}
			if err := do(chunk); err != nil {
				return err
			}
		}
	})
}

// TimeOrNull is null for the zero time.
func TimeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
