package reads

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Metadata returns the standings of those users on a board that have metadata: one probe a user.
// A hidden standing is only that of own.
func (r *Reads) Metadata(
	ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID, own scoreboard.UserID,
) ([]scoreboard.Described, error) {
	const sql = `select s.user_id, s.score, s.recorded_at, s.metadata, s.subscore
from unnest($2::text[]) as t(u) cross join lateral (
    select * from scores where user_id = t.u and board_id = $1 offset 0) as s
where s.metadata_version = s.version and not s.empty and (not s.hidden or s.user_id = $3)`
	rows, err := r.db.Query(ctx, sql, board, users, own)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the metadata of %d users of board %s: %w", len(users), board, err))
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d scoreboard.Described, err error) {
		err = row.Scan(&d.User, &d.Score, &d.RecordedAt, &d.Metadata, &d.Subscore)
		return d, err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the metadata of %d users of board %s: %w", len(users), board, err))
	}
	return found, nil
}
