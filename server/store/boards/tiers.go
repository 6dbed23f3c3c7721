package boards

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// An instance that has ended keeps the tiers that it ended with.
const sqlSetTiers = `update boards set tiers = $2
where family_id = $1 and status <> 'archived' and closed_at is null`

// setTiers sets the tiers of a board and of its instances that have not ended.
func setTiers(ctx context.Context, tx pgx.Tx, id scoreboard.BoardID, tiers scoreboard.Tiers) error {
	_, err := tx.Exec(ctx, sqlSetTiers, id, tiersColumn(tiers))
	return err
}

// tiersColumn is null without tiers.
func tiersColumn(tiers scoreboard.Tiers) any {
	if len(tiers) == 0 {
		return nil
	}
	return tiers
}
