package boards

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
	"github.com/scoreboard/scoreboard/server/store/internal/row"
)

// SetRequirements changes the proofs that increments need on a board and on its
// instances that have not ended. It applies to every transaction that locks the
// board afterwards. For an archived board it returns a conflict.
func (s *Boards) SetRequirements(
	ctx context.Context,
	id scoreboard.BoardID,
	r *scoreboard.Requirements,
	audit *scoreboard.AuditEntry,
) (b *scoreboard.Board, err error) {
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(
			ctx,
			`update boards set require_action_token = $2, require_attestation = $3, action_least_ms = $4,
action_life_ms = $5
where family_id = $1 and status <> 'archived' and closed_at is null`,
			id,
			r.ActionToken,
			r.Attestation,
			r.MinActionTime.Milliseconds(),
			r.ActionLife.Milliseconds(),
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
		return nil, pg.Translate(fmt.Errorf("change the requirements of board %s: %w", id, err))
	}
	return b, nil
}
