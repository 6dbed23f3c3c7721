package recovery

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Found by the users who must be hidden, because there are few of them.
const sqlExposed = `select s.user_id from (
    select user_id from private_users where until is null
    union select user_id from users where status in ('banned', 'erased')) as h
cross join lateral (select user_id from scores as s where s.user_id = h.user_id and s.board_id = $1 and not s.hidden
    offset 0) as s
where $2 = '' or s.user_id = $2
order by s.user_id limit $3`

// maxExposed is how many users one read lists.
const maxExposed = 1000

// Exposed lists users with a score on a board that is shown, although they are banned, erased
// or private; a non-empty user restricts it.
func (r *Recovery) Exposed(
	ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID,
) ([]scoreboard.UserID, error) {
	rows, err := r.db.Query(ctx, sqlExposed, board, user, maxExposed)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("find visible users who must be hidden: %w", err))
	}
	users, err := pgx.CollectRows(rows, pgx.RowTo[scoreboard.UserID])
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("find visible users who must be hidden: %w", err))
	}
	return users, nil
}

// HideExposed hides all scores of a user, if the user must be hidden.
func (r *Recovery) HideExposed(ctx context.Context, user scoreboard.UserID) error {
	if err := pg.HideExposed(ctx, r.db, user, r.shards); err != nil {
		return pg.Translate(fmt.Errorf("hide %s: %w", user, err))
	}
	return nil
}
