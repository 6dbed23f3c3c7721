package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Standings calls do with every user's state on a board, hidden ones included,
// in chunks of at most size, from one snapshot and in flat memory.
func (s *Store) Standings(ctx context.Context, board scoreboard.BoardID, size int, do func([]scoreboard.Change) error) error {
	err := inChunks(ctx, s, "standings", size, scanState, do, `select `+stateColumns+` from scores where board_id = $1`, board)
	if err != nil {
		return translate(fmt.Errorf("read the standings of board %s: %w", board, err))
	}
	return nil
}

// BoardExists says whether there is a board, asking the database itself.
func (s *Store) BoardExists(ctx context.Context, id scoreboard.BoardID) (exists bool, err error) {
	if err := s.pool.QueryRow(ctx, `select exists (select from boards where board_id = $1)`, id).Scan(&exists); err != nil {
		return false, translate(fmt.Errorf("look for board %s: %w", id, err))
	}
	return exists, nil
}

// NextEpoch returns an epoch that no board has had.
func (s *Store) NextEpoch(ctx context.Context) (epoch int64, err error) {
	if err := s.pool.QueryRow(ctx, `select nextval('board_epochs')`).Scan(&epoch); err != nil {
		return 0, translate(fmt.Errorf("take an epoch: %w", err))
	}
	return epoch, nil
}

const sqlEvent = `select board_id, applied, previous_score, new_score, version, recorded_at,
    exists (select from reversals where user_id = $1 and event_id = $2)
from user_score_histories where user_id = $1 and event_id = $2 order by board_id`

func readReceipts(rows pgx.Rows, user scoreboard.UserID, event scoreboard.EventID) (receipts []scoreboard.Receipt, err error) {
	err = forEach(rows, func() error {
		r := scoreboard.Receipt{User: user, Event: event, Replayed: true}
		err := rows.Scan(&r.Board, &r.Applied, &r.Previous, &r.NewScore, &r.Version, &r.RecordedAt, &r.Reversed)
		r.RecordedAt = r.RecordedAt.UTC()
		receipts = append(receipts, r)
		return err
	})
	return receipts, err
}

// Event returns the receipts of one event of a user, on every board, or a
// not_found.
func (s *Store) Event(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) ([]scoreboard.Receipt, error) {
	rows, err := s.pool.Query(ctx, sqlEvent, user, event.UUID)
	if err != nil {
		return nil, translate(fmt.Errorf("look up event %s of %s: %w", event.Text, user, err))
	}
	receipts, err := readReceipts(rows, user, event)
	if err != nil {
		return nil, translate(fmt.Errorf("look up event %s of %s: %w", event.Text, user, err))
	}
	if len(receipts) == 0 {
		return nil, scoreboard.Errorf(scoreboard.CodeNotFound, "event %s of user %s is not known", event.Text, user)
	}
	return receipts, nil
}
