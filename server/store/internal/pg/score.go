package pg

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// StateColumns are the columns of scores that ScanState reads.
const StateColumns = `user_id, board_id, score, order_key, version, revision, reached_at, recorded_at, hidden,
    subscore, sub_key`

// SubscoreOf are the columns of the outbox for the subscore of a row of scores: null on a board without subscores.
const SubscoreOf = `nullif(subscore, 0), nullif(sub_key, 0)`

// ScanState reads StateColumns.
func ScanState(row pgx.CollectableRow) (c scoreboard.Change, err error) {
	c.Type = scoreboard.ChangeScore
	err = row.Scan(&c.User, &c.Board, &c.Score, &c.Key, &c.Version, &c.Revision, &c.ReachedAt, &c.RecordedAt, &c.Hidden,
		&c.Subscore, &c.SubKey)
	return c, err
}

const sqlReceipts = `select board_id, applied, previous_score, new_score, version, recorded_at,
    previous_subscore, coalesce(new_subscore, 0),
    exists (select from reversals where user_id = $1 and event_id = $2 and internal = $3)
from user_score_histories where user_id = $1 and event_id = $2 and (source = 'admin') = $3 order by board_id`

// Receipts reads the receipts of a user's event on every board: of an internal one, or
// of a client's.
func Receipts(
	ctx context.Context, q Querier, user scoreboard.UserID, event scoreboard.EventID, internal bool,
) (receipts []scoreboard.Receipt, err error) {
	rows, err := q.Query(ctx, sqlReceipts, user, event.UUID, internal)
	if err != nil {
		return nil, err
	}
	err = ForEach(rows, func() error {
		r := scoreboard.Receipt{User: user, Event: event, Replayed: true}
		err := rows.Scan(&r.Board, &r.Applied, &r.Previous, &r.NewScore, &r.Version, &r.RecordedAt,
			&r.PreviousSubscore, &r.NewSubscore, &r.Reversed)
		r.RecordedAt = r.RecordedAt.UTC()
		receipts = append(receipts, r)
		return err
	})
	return receipts, err
}

// NoUser returns the not_found for a user.
func NoUser(user scoreboard.UserID) error {
	return scoreboard.Errorf(wire.CodeNotFound, "user %s not found", user)
}
