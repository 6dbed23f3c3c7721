package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// RequireOf changes what increments of a board, and of those of its periods that
// are not over, must come with. Whoever locks the board's users later is held to
// it. Of an archived board it is a conflict.
func (s *Store) RequireOf(ctx context.Context, id scoreboard.BoardID, r *scoreboard.Requirements, why *scoreboard.AuditEntry) (b *scoreboard.Board, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `update boards set require_action_token = $2, require_attestation = $3, action_least_ms = $4, action_life_ms = $5
where family_id = $1 and status <> 'archived' and closed_at is null`,
			id, r.ActionToken, r.Attestation, r.ActionLeast.Milliseconds(), r.ActionLife.Milliseconds()); err != nil {
			return err
		}
		if b, err = findBoard(ctx, tx, id); err == nil && b.Status == scoreboard.StatusArchived {
			err = scoreboard.Errorf(scoreboard.CodeConflict, "board %s is archived", id)
		}
		if err != nil {
			return err
		}
		return writeAudit(ctx, tx, why)
	})
	if err != nil {
		return nil, translate(fmt.Errorf("change what board %s requires: %w", id, err))
	}
	return b, nil
}
