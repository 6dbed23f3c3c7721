package boards

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
	"github.com/scoreboard/scoreboard/server/store/internal/row"
)

// SetRules changes the proofs that increments need on a board and on its instances that
// have not ended, and in how many partitions they are ranked; 0 leaves that unchanged.
// The proofs apply to every transaction that locks the board afterwards, the partitions
// from the next rebuild on, which is due then. For an archived board it returns a conflict.
func (s *Boards) SetRules(
	ctx context.Context,
	id scoreboard.BoardID,
	r *scoreboard.Requirements,
	partitions int,
	audit *scoreboard.AuditEntry,
) (b *scoreboard.Board, err error) {
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(
			ctx,
			`update boards set require_action_token = $2, require_attestation = $3, action_least_ms = $4,
action_life_ms = $5, partitions = coalesce(nullif($6, 0), partitions)
where family_id = $1 and status <> 'archived' and closed_at is null`,
			id,
			r.ActionToken,
			r.Attestation,
			r.MinActionTime.Milliseconds(),
			r.ActionLife.Milliseconds(),
			partitions,
		); err != nil {
			return err
		}
		if b, err = row.FindBoard(ctx, tx, id); err == nil && b.Status == scoreboard.StatusArchived {
			err = scoreboard.Errorf(scoreboard.CodeConflict, "board %s is archived", id)
		}
		if err != nil {
			return err
		}
		return pg.WriteAudit(ctx, tx, audit)
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("change the rules of board %s: %w", id, err))
	}
	return b, nil
}
