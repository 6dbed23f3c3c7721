package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const boardColumns = `board_id, family_id, mode, sort_order, status, min_delta, max_delta, min_score, max_score,
    public, coalesce(region, ''), created_at, period, time_zone, week_start % 7, period_start, period_end, closed_at,
    require_action_token, require_attestation, action_least_ms, action_life_ms, coalesce(encode(standings_hash, 'hex'), '')`

// scanBoard reads boardColumns behind whatever columns stand before them.
func scanBoard(row pgx.Row, before ...any) (b scoreboard.Board, err error) {
	var start, end, closed *time.Time
	var least, life int64 // milliseconds
	err = row.Scan(append(before, &b.ID, &b.Family, &b.Mode, &b.Order, &b.Status, &b.MinDelta, &b.MaxDelta,
		&b.MinScore, &b.MaxScore, &b.Public, &b.Region, &b.Created, &b.Period, &b.TimeZone, &b.WeekStart,
		&start, &end, &closed, &b.Require.ActionToken, &b.Require.Attestation, &least, &life, &b.StandingsHash)...)
	b.Require.ActionLeast, b.Require.ActionLife = time.Duration(least)*time.Millisecond, time.Duration(life)*time.Millisecond
	b.Created = b.Created.UTC()
	for to, t := range map[*time.Time]*time.Time{&b.PeriodStart: start, &b.PeriodEnd: end, &b.Closed: closed} {
		if t != nil {
			*to = t.UTC()
		}
	}
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

// Boards lists every board, in the order of their names, and says what the
// time was to the database.
func (s *Store) Boards(ctx context.Context) (boards []scoreboard.Board, at time.Time, err error) {
	var b pgx.Batch
	b.Queue(`select ` + boardColumns + ` from boards order by board_id`).Query(func(rows pgx.Rows) error {
		return forEach(rows, func() error {
			b, err := scanBoard(rows)
			boards = append(boards, b)
			return err
		})
	})
	b.Queue(`select clock_timestamp()`).QueryRow(func(row pgx.Row) error { return row.Scan(&at) })
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return nil, at, translate(fmt.Errorf("list boards: %w", err))
	}
	return boards, at, nil
}

// FindBoards lists boards, straight from the database.
func (s *Store) FindBoards(ctx context.Context, f scoreboard.BoardFilter) ([]scoreboard.Board, error) {
	const find = `select ` + boardColumns + ` from boards
where board_id > $1 and ($2 = '' or family_id = $2) and ($3 = '' or period = $3) and ($4 = '' or region = $4)
  and ($5 = '' or status = $5) and (public or not $6)
order by board_id limit $7`
	rows, err := s.pool.Query(ctx, find, f.After, f.Family, f.Period, f.Region, f.Status, f.Public, f.Limit)
	if err != nil {
		return nil, translate(fmt.Errorf("find boards: %w", err))
	}
	boards, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (scoreboard.Board, error) { return scanBoard(row) })
	if err != nil {
		return nil, translate(fmt.Errorf("find boards: %w", err))
	}
	return boards, nil
}

// FindBoard reads one board, straight from the database, or a not_found.
func (s *Store) FindBoard(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	return findBoard(ctx, s.pool, id)
}

// querier is a pool, a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func findBoard(ctx context.Context, q querier, id scoreboard.BoardID) (*scoreboard.Board, error) {
	b, err := scanBoard(q.QueryRow(ctx, `select `+boardColumns+` from boards where board_id = $1`, id))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, scoreboard.Errorf(scoreboard.CodeNotFound, "there is no board %s", id)
	}
	if err != nil {
		return nil, translate(fmt.Errorf("find board %s: %w", id, err))
	}
	return &b, nil
}

// CreateBoard makes a board that has been checked, with its first instances
// where it has periods: of a season the one that is given, from now on where it
// has no start. A conflict where there is one of this name.
func (s *Store) CreateBoard(ctx context.Context, b *scoreboard.Board, season *scoreboard.Span, why *scoreboard.AuditEntry) (*scoreboard.Board, error) {
	var made *scoreboard.Board
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `insert into boards (board_id, family_id, mode, sort_order, min_delta, max_delta, min_score, max_score,
    public, region, period, time_zone, week_start, require_action_token, require_attestation, action_least_ms, action_life_ms)
values ($1, $1, $2, $3, $4, $5, $6, $7, $8, nullif($9, ''), $10, $11, $12, $13, $14, $15, $16)`,
			b.ID, b.Mode, b.Order, b.MinDelta, b.MaxDelta, b.MinScore, b.MaxScore, b.Public, b.Region, b.Period, b.TimeZone, isoDay(b.WeekStart),
			b.Require.ActionToken, b.Require.Attestation, b.Require.ActionLeast.Milliseconds(), b.Require.ActionLife.Milliseconds())
		if state(err) == stateUnique {
			return scoreboard.Errorf(scoreboard.CodeConflict, "there is a board %s already", b.ID)
		}
		if err != nil {
			return err
		}
		if err := writeAudit(ctx, tx, why); err != nil {
			return err
		}
		if made, err = findBoard(ctx, tx, b.ID); err != nil || b.Period == scoreboard.PeriodNone {
			return err
		}
		if b.Period == scoreboard.PeriodSeason {
			first := *season
			if first.Start.IsZero() {
				first.Start = made.Created
			}
			return makeInstance(ctx, tx, made, first)
		}
		_, err = makeAhead(ctx, tx, made)
		return err
	})
	if err != nil {
		return nil, translate(fmt.Errorf("create board %s: %w", b.ID, err))
	}
	return made, nil
}

// isoDay is 1 for Monday to 7 for Sunday.
func isoDay(d time.Weekday) int { return (int(d)+6)%7 + 1 }
