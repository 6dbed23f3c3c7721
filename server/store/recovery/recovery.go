// Package recovery reads what rebuilding and verifying rankings need: the states of
// all users on a board, the sums of their ledgers, new epochs, and the history of
// the database itself.
package recovery

import (
	"context"
	"fmt"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
	"github.com/scoreboard/scoreboard/server/store/internal/row"
)

// Recovery reads PostgreSQL to rebuild and verify rankings.
type Recovery struct{ db *pg.DB }

// New returns a Recovery over db.
func New(db *pg.DB) *Recovery { return &Recovery{db} }

// Standings calls do with every user's state on a board, including hidden ones, in
// chunks of at most size, from one snapshot and in constant memory.
func (r *Recovery) Standings(
	ctx context.Context,
	board scoreboard.BoardID,
	size int,
	do func([]scoreboard.Change) error,
) error {
	err := pg.InChunks(
		ctx,
		r.db,
		"standings",
		size,
		row.ScanState,
		do,
		`select `+row.StateColumns+` from scores where board_id = $1`,
		board,
	)
	if err != nil {
		return pg.Translate(fmt.Errorf("read the standings of board %s: %w", board, err))
	}
	return nil
}

// NextEpoch returns an epoch that no board has used.
func (r *Recovery) NextEpoch(ctx context.Context) (epoch int64, err error) {
	if err := r.db.QueryRow(ctx, `select nextval('board_epochs')`).Scan(&epoch); err != nil {
		return 0, pg.Translate(fmt.Errorf("take an epoch: %w", err))
	}
	return epoch, nil
}
