package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const boardColumns = `board_id, family_id, mode, sort_order, status, min_delta, max_delta, min_score, max_score,
    public, coalesce(region, ''), created_at`

// scanBoard reads boardColumns behind whatever columns stand before them.
func scanBoard(row pgx.Rows, before ...any) (b scoreboard.Board, err error) {
	err = row.Scan(append(before, &b.ID, &b.Family, &b.Mode, &b.Order, &b.Status, &b.MinDelta, &b.MaxDelta,
		&b.MinScore, &b.MaxScore, &b.Public, &b.Region, &b.Created)...)
	return b, err
}

// forEach calls do for every row and closes rows.
func forEach(rows pgx.Rows, do func() error) error {
	defer rows.Close()
	for rows.Next() {
		if err := do(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Boards lists every board, in the order of their names.
func (s *Store) Boards(ctx context.Context) ([]scoreboard.Board, error) {
	rows, err := s.pool.Query(ctx, `select `+boardColumns+` from boards order by board_id`)
	if err != nil {
		return nil, translate(fmt.Errorf("list boards: %w", err))
	}
	var boards []scoreboard.Board
	err = forEach(rows, func() error {
		b, err := scanBoard(rows)
		boards = append(boards, b)
		return err
	})
	if err != nil {
		return nil, translate(fmt.Errorf("list boards: %w", err))
	}
	return boards, nil
}
