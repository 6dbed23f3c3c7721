package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// inChunks calls do with what a query returns, in chunks of at most size, from
// one snapshot and in memory that does not grow with it. Each query has a cursor
// of its own name: pgx remembers what columns a fetch by that name returns.
func inChunks[T any](ctx context.Context, s *Store, name string, size int, scan pgx.RowToFunc[T], do func([]T) error, query string, args ...any) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
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
