package pg

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// sqlHideScores hides or shows all scores of a user, as the row of users says, and notifies
// the projection with a higher revision for each that changes, so that a late event cannot
// revert it.
const sqlHideScores = `with wanted as (
    select status in ('banned', 'erased') or private as hidden from users where user_id = $1
), changed as (
    update scores as s set hidden = wanted.hidden or s.empty, revision = s.revision + 1 from wanted
    where s.user_id = $1 and s.hidden <> (wanted.hidden or s.empty)
    returning s.*)
insert into outbox_score_updates (shard, event_id, user_id, board_id, score, previous_score, delta, order_key, version,
    revision, reached_at, recorded_at, hidden, subscore, sub_key)
select $2, gen_random_uuid(), user_id, board_id, score, score, 0, order_key, version, revision, reached_at, $3, hidden,
    ` + SubscoreOf + `
    from changed
returning board_id, revision`

// HideScores hides all scores of a user who is banned, erased or private, and shows those of
// any other. The user is locked, and at is the user's time. It returns the new revisions of
// the scores that it changed, by board.
func HideScores(
	ctx context.Context, tx pgx.Tx, user scoreboard.UserID, shards int, at time.Time,
) (map[scoreboard.BoardID]int64, error) {
	rows, err := tx.Query(ctx, sqlHideScores, user, ledger.Shard(user, shards), at)
	if err != nil {
		return nil, err
	}
	moved := make(map[scoreboard.BoardID]int64)
	var board scoreboard.BoardID
	var revision int64
	_, err = pgx.ForEachRow(rows, []any{&board, &revision}, func() error {
		moved[board] = revision
		return nil
	})
	return moved, err
}

// HideExposed is HideScores for a user who must be hidden and is shown.
func HideExposed(ctx context.Context, db *DB, user scoreboard.UserID, shards int) error {
	return db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		u, err := LockUser(ctx, tx, user)
		if err == nil {
			_, err = HideScores(ctx, tx, user, shards, u.Time)
		}
		return err
	})
}
