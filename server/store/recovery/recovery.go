// Package recovery reads what rebuilding and verifying rankings need: the states of
// all users on a board, the sums of their ledgers, new epochs, and the history of
// the database itself.
package recovery

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Recovery reads PostgreSQL to rebuild and verify rankings.
type Recovery struct {
	db     *pg.DB
	shards int // of the outbox
}

// New returns a Recovery over db. shards is the number of outbox shards.
func New(db *pg.DB, shards int) *Recovery { return &Recovery{db, shards} }

// Standings calls do with every user's state on a board, including hidden ones, in
// chunks of at most size, from one snapshot and in constant memory. Every change
// committed before asOf is in it.
func (r *Recovery) Standings(
	ctx context.Context,
	board scoreboard.BoardID,
	size int,
	do func([]scoreboard.Change) error,
) (asOf time.Time, err error) {
	// Before the snapshot, so that it claims nothing that the snapshot misses.
	before := time.Now()
	if err := r.db.QueryRow(ctx, `select clock_timestamp()`).Scan(&asOf); err != nil {
		return asOf, pg.Translate(fmt.Errorf("read the standings of board %s: %w", board, err))
	}
	asOf = pg.AsOf(asOf, before)
	err = pg.InChunks(
		ctx,
		r.db,
		"standings",
		size,
		pg.ScanState,
		do,
		`select `+pg.StateColumns+` from scores where board_id = $1`,
		board,
	)
	if err != nil {
		return asOf, pg.Translate(fmt.Errorf("read the standings of board %s: %w", board, err))
	}
	return asOf, nil
}

// NextEpoch returns an epoch that no board has used, greater than above and at most
// scoreboard.MaxEpoch. The sequence follows the clock in microseconds, so that it is
// ahead of all earlier epochs even if the database was restored to a state in which
// the sequence was lower. So those that saw them (Redis, a topic, a client) need not
// be asked.
func (r *Recovery) NextEpoch(ctx context.Context, above int64) (epoch int64, err error) {
	if above >= scoreboard.MaxEpoch {
		return 0, fmt.Errorf("allocate an epoch: none is greater than %d", above)
	}
	err = pgx.BeginFunc(ctx, r.db, func(tx pgx.Tx) error {
		// Between nextval and setval another process must not set a later value.
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('board_epochs', 0))`); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `select setval('board_epochs', greatest(nextval('board_epochs'), $1::bigint + 1,
    (extract(epoch from clock_timestamp()) * 1000000)::bigint))`, above).Scan(&epoch)
	})
	if err != nil {
		return 0, pg.Translate(fmt.Errorf("allocate an epoch: %w", err))
	}
	return epoch, nil
}
