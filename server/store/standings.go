package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Top returns the first standings of a board, counted from the index that
// ranks it.
func (s *Store) Top(ctx context.Context, board *scoreboard.Board, limit int) (*scoreboard.Top, error) {
	const rows = `select user_id, score, recorded_at from scores where board_id = $1 and not hidden
order by order_key, reached_at, user_id limit $2`
	top := &scoreboard.Top{Board: board.ID, Entries: make([]scoreboard.Entry, 0, limit)}
	var b pgx.Batch
	b.Queue(`select clock_timestamp()`).QueryRow(func(row pgx.Row) error { return row.Scan(&top.AsOf) })
	b.Queue(rows, board.ID, limit).Query(func(found pgx.Rows) error {
		return forEach(found, func() error {
			e := scoreboard.Entry{Rank: int64(len(top.Entries) + 1)}
			var at time.Time
			err := found.Scan(&e.User, &e.Score, &at)
			top.Entries = append(top.Entries, e)
			if at.After(top.UpdatedAt) {
				top.UpdatedAt = at.UTC()
			}
			return err
		})
	})
	b.Queue(`select count(*) from scores where board_id = $1 and not hidden`, board.ID).QueryRow(func(row pgx.Row) error {
		return row.Scan(&top.Total)
	})
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return nil, translate(fmt.Errorf("read the top of board %s: %w", board.ID, err))
	}
	return top, nil
}

// Place returns a user's standing with k neighbours on each side, or a
// not_found. The rank counts the better standings in the ranking index, so it
// costs what the rank is high.
func (s *Store) Place(ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, k int) (*scoreboard.Place, error) {
	p := &scoreboard.Place{Board: board.ID, User: user}
	var key int64
	err := s.pool.QueryRow(ctx, `select score, order_key, reached_at, clock_timestamp() from scores
where user_id = $1 and board_id = $2 and not hidden`, user, board.ID).Scan(&p.Score, &key, &p.UpdatedAt, &p.AsOf)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, scoreboard.Errorf(scoreboard.CodeNotFound, "user %s has no score on board %s", user, board.ID)
	}
	if err != nil {
		return nil, translate(fmt.Errorf("read the place of %s on board %s: %w", user, board.ID, err))
	}
	p.UpdatedAt = p.UpdatedAt.UTC()
	const better = `select count(*) from scores where board_id = $1 and not hidden and (order_key, reached_at, user_id) < ($2, $3, $4)`
	const above = `select user_id, score from scores where board_id = $1 and not hidden
and (order_key, reached_at, user_id) < ($2, $3, $4) order by order_key desc, reached_at desc, user_id desc limit $5`
	const below = `select user_id, score from scores where board_id = $1 and not hidden
and (order_key, reached_at, user_id) > ($2, $3, $4) order by order_key, reached_at, user_id limit $5`
	var b pgx.Batch
	b.Queue(better, board.ID, key, p.UpdatedAt, user).QueryRow(func(row pgx.Row) error { return row.Scan(&p.Rank) })
	b.Queue(`select count(*) from scores where board_id = $1 and not hidden`, board.ID).QueryRow(func(row pgx.Row) error {
		return row.Scan(&p.Total)
	})
	var up, down []scoreboard.Entry
	if k > 0 {
		b.Queue(above, board.ID, key, p.UpdatedAt, user, k).Query(readEntries(&up))
		b.Queue(below, board.ID, key, p.UpdatedAt, user, k).Query(readEntries(&down))
	}
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return nil, translate(fmt.Errorf("rank %s on board %s: %w", user, board.ID, err))
	}
	p.Rank++
	if k > 0 {
		p.Neighbours = around(p, up, down)
	}
	return p, nil
}

func readEntries(to *[]scoreboard.Entry) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		return forEach(rows, func() error {
			var e scoreboard.Entry
			err := rows.Scan(&e.User, &e.Score)
			*to = append(*to, e)
			return err
		})
	}
}

// around puts the user between who is above (nearest first) and below.
func around(p *scoreboard.Place, up, down []scoreboard.Entry) []scoreboard.Entry {
	all := make([]scoreboard.Entry, 0, len(up)+1+len(down))
	for i := len(up) - 1; i >= 0; i-- {
		all = append(all, up[i])
	}
	all = append(all, scoreboard.Entry{User: p.User, Score: p.Score})
	all = append(all, down...)
	for i := range all {
		all[i].Rank = p.Rank - int64(len(up)) + int64(i)
	}
	return all
}

// Standings calls do with every user's state on a board, hidden ones included,
// in chunks of at most size, from one snapshot and in flat memory.
func (s *Store) Standings(ctx context.Context, board scoreboard.BoardID, size int, do func([]scoreboard.Change) error) error {
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `declare standings no scroll cursor for
select user_id, score, order_key, version, revision, reached_at, recorded_at, hidden from scores where board_id = $1`, board)
		if err != nil {
			return err
		}
		chunk := make([]scoreboard.Change, 0, size)
		for {
			chunk = chunk[:0]
			rows, err := tx.Query(ctx, fmt.Sprintf("fetch %d from standings", size)) // fetch takes no parameter
			if err != nil {
				return err
			}
			err = forEach(rows, func() error {
				c := scoreboard.Change{Type: scoreboard.ChangeScore, Board: board}
				err := rows.Scan(&c.User, &c.Score, &c.Key, &c.Version, &c.Revision, &c.ReachedAt, &c.RecordedAt, &c.Hidden)
				chunk = append(chunk, c)
				return err
			})
			if err != nil || len(chunk) == 0 {
				return err
			}
			if err := do(chunk); err != nil {
				return err
			}
		}
	})
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

// Event returns the receipts of one event of a user, on every board, or a
// not_found.
func (s *Store) Event(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) ([]scoreboard.Receipt, error) {
	rows, err := s.pool.Query(ctx, `select board_id, applied, previous_score, new_score, version, recorded_at
from user_score_histories where user_id = $1 and event_id = $2 order by board_id`, user, event.UUID)
	if err != nil {
		return nil, translate(fmt.Errorf("look up event %s of %s: %w", event.Text, user, err))
	}
	var receipts []scoreboard.Receipt
	err = forEach(rows, func() error {
		r := scoreboard.Receipt{User: user, Event: event, Replayed: true}
		err := rows.Scan(&r.Board, &r.Applied, &r.Previous, &r.NewScore, &r.Version, &r.RecordedAt)
		r.RecordedAt = r.RecordedAt.UTC()
		receipts = append(receipts, r)
		return err
	})
	if err != nil {
		return nil, translate(fmt.Errorf("look up event %s of %s: %w", event.Text, user, err))
	}
	if len(receipts) == 0 {
		return nil, scoreboard.Errorf(scoreboard.CodeNotFound, "event %s of user %s is not known", event.Text, user)
	}
	return receipts, nil
}
