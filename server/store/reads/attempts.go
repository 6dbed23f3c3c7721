package reads

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Attempts returns how many events of a user a board has recorded that are not reversed: 0 for
// a user without a score.
func (r *Reads) Attempts(
	ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID,
) (used int64, err error) {
	const sql = `select version - uncounted from scores where user_id = $1 and board_id = $2`
	err = r.db.QueryRow(ctx, sql, user, board).Scan(&used)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, pg.Translate(fmt.Errorf("count the attempts of %s on board %s: %w", user, board, err))
	}
	return used, nil
}
