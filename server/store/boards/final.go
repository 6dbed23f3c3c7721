package boards

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
	"github.com/scoreboard/scoreboard/server/store/internal/row"
)

// sqlCopyStandings copies the next standings in ranking order. Nothing writes to a
// closed board, so nothing changes between two chunks.
const sqlCopyStandings = `insert into board_standings (board_id, rank, user_id, score, order_key, reached_at)
select $1, $5 + row_number() over (order by order_key, reached_at, user_id), user_id, score, order_key, reached_at
from (select user_id, score, order_key, reached_at from scores
    where board_id = $1 and not hidden and (order_key, reached_at, user_id) > ($2, $3, $4)
    order by order_key, reached_at, user_id limit $6) as next`

// CopyStandings copies the next size final standings of a closed board and returns
// how many it copied: less than size when it is done. It continues an interrupted
// copy, and returns a conflict if another process is copying.
func (s *Boards) CopyStandings(ctx context.Context, id scoreboard.BoardID, size int) (copied int, err error) {
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		var mine bool
		err := tx.QueryRow(ctx, `select pg_try_advisory_xact_lock(hashtextextended('standings of ' || $1, 0)),
set_config('enable_seqscan', 'off', true)`,
			string(id)).
			Scan(&mine, nil)
		if err != nil {
			return err
		}
		if !mine {
			return scoreboard.Errorf(
				scoreboard.CodeConflict,
				"another process is copying the standings of board %s",
				id,
			)
		}
		var closed bool
		if err := tx.QueryRow(ctx, `select closed_at is not null and standings_hash is null from boards
where board_id = $1`, id).
			Scan(&closed); err != nil {
			return err
		}
		if !closed {
			return scoreboard.Errorf(scoreboard.CodeConflict, "board %s is not closed, or its standings are sealed", id)
		}
		var rank int64
		key, user := int64(-1<<63), ""
		reached := time.Date(-4000, 1, 1, 0, 0, 0, 0, time.UTC) // before every standing
		err = tx.QueryRow(ctx, `select rank, order_key, reached_at, user_id from board_standings where board_id = $1
order by rank desc limit 1`, id).
			Scan(&rank, &key, &reached, &user)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		tag, err := tx.Exec(ctx, sqlCopyStandings, id, key, reached, user, rank, size)
		copied = int(tag.RowsAffected())
		return err
	})
	if err != nil {
		return 0, pg.Translate(fmt.Errorf("copy the standings of board %s: %w", id, err))
	}
	return copied, nil
}

// SealStandings hashes the stored final standings of a board and stores the hash
// with the board.
func (s *Boards) SealStandings(ctx context.Context, id scoreboard.BoardID) error {
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		sum, users, err := hashStandings(ctx, tx, id)
		if err != nil {
			return err
		}
		_, err = tx.Exec(
			ctx,
			`update boards set standings_hash = $2, standings_users = $3 where board_id = $1
and standings_hash is null`,
			id,
			sum.Sum(nil),
			users,
		)
		return err
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("seal the standings of board %s: %w", id, err))
	}
	return nil
}

func hashStandings(ctx context.Context, tx pgx.Tx, id scoreboard.BoardID) (sum hash.Hash, users int64, err error) {
	sum = sha256.New()
	rows, err := tx.Query(
		ctx,
		`select rank, user_id, score, order_key, reached_at from board_standings where board_id = $1 order by rank`,
		id,
	)
	if err != nil {
		return nil, 0, err
	}
	var line []byte
	var f scoreboard.FinalStanding
	_, err = pgx.ForEachRow(rows, []any{&f.Rank, &f.User, &f.Score, &f.Key, &f.ReachedAt}, func() error {
		line = f.AppendLine(line[:0])
		_, _ = sum.Write(line) // a hash never fails
		users++
		return nil
	})
	return sum, users, err
}

func scanFinal(row pgx.CollectableRow) (f scoreboard.FinalStanding, err error) {
	err = row.Scan(&f.Rank, &f.User, &f.Score, &f.Key, &f.ReachedAt)
	f.ReachedAt = f.ReachedAt.UTC()
	return f, err
}

// FinalStandings returns the standings after a rank, without users who are banned
// now, and how the board ended; a not_found if its standings are not final.
func (s *Boards) FinalStandings(
	ctx context.Context,
	id scoreboard.BoardID,
	after int64,
	limit int,
) (e scoreboard.Ending, final []scoreboard.FinalStanding, err error) {
	e.Board, err = row.ScanBoard(s.db.QueryRow(ctx, `select coalesce(standings_users, 0), `+row.BoardColumns+
		` from boards where board_id = $1 and standings_hash is not null`, id), &e.Users)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, nil, scoreboard.Errorf(scoreboard.CodeNotFound, "board %s has no final standings", id)
	}
	var rows pgx.Rows
	if err == nil {
		rows, err = s.db.Query(ctx, `select rank, b.user_id, score, order_key, reached_at from board_standings as b
where board_id = $1 and rank > $2 and not exists (select from users as u where u.user_id = b.user_id
    and u.status = 'banned')
order by rank limit $3`, id, after, limit)
	}
	if err == nil {
		final, err = pgx.CollectRows(rows, scanFinal)
	}
	if err != nil {
		return e, nil, pg.Translate(fmt.Errorf("read the final standings of board %s: %w", id, err))
	}
	return e, final, nil
}
