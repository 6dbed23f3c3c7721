package corrections

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

const (
	sqlImportedScores = ` from scores as s join import_scores as i on i.user_id = s.user_id and i.import_id = $1
where s.board_id = $2 and not s.hidden`

	// The digest is scoreboard.ImportDigest.
	sqlSummary = `select count(*), coalesce(sum(s.score), 0)::text,
    coalesce(sum(('x' || substr(md5(s.user_id || ' ' || s.score
        || case when s.subscore = 0 then '' else ' ' || s.subscore end), 1, 16))::bit(64)::bigint), 0)::text` +
		sqlImportedScores

	sqlImportedTop = `select s.user_id` + sqlImportedScores + ` order by s.order_key, s.sub_key, s.reached_at, s.user_id
limit $3`

	sqlShown = `select count(*) from scores where board_id = $1 and not hidden`
)

// ImportBoard returns the board of an import, or a not_found.
func (s *Imports) ImportBoard(ctx context.Context, id int64) (board scoreboard.BoardID, err error) {
	err = s.db.QueryRow(ctx, `select board_id from imports where import_id = $1`, id).Scan(&board)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", scoreboard.Errorf(wire.CodeNotFound, "import %d not found", id)
	case err != nil:
		return "", pg.Translate(fmt.Errorf("read import %d: %w", id, err))
	}
	return board, nil
}

// SummarizeImport returns the board of an import, and what it has of the import's users, at
// one moment. It reads the whole board; the caller bounds the time.
func (s *Imports) SummarizeImport(
	ctx context.Context, id int64,
) (board scoreboard.BoardID, sum scoreboard.ImportSummary, err error) {
	err = pgx.BeginTxFunc(ctx, s.db, pg.Snapshot, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `select board_id from imports where import_id = $1`, id).Scan(&board)
		if errors.Is(err, pgx.ErrNoRows) {
			return scoreboard.Errorf(wire.CodeNotFound, "import %d not found", id)
		}
		if err != nil {
			return err
		}
		var digest string
		if err := tx.QueryRow(ctx, sqlSummary, id, board).Scan(&sum.Users, &sum.Sum, &digest); err != nil {
			return err
		}
		if sum.Digest, err = modulo64(digest); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sqlImportedTop, id, board, scoreboard.TopSize)
		if err != nil {
			return err
		}
		if sum.Top, err = pgx.CollectRows(rows, pgx.RowTo[scoreboard.UserID]); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, sqlShown, board).Scan(&sum.Others); err != nil {
			return err
		}
		sum.Others -= sum.Users
		return nil
	})
	if err != nil {
		return "", sum, pg.Translate(fmt.Errorf("summarise import %d: %w", id, err))
	}
	return board, sum, nil
}

// modulo64 returns a decimal number modulo 2^64.
func modulo64(decimal string) (uint64, error) {
	n, ok := new(big.Int).SetString(decimal, 10)
	if !ok {
		return 0, fmt.Errorf("%q is not a number", decimal)
	}
	return n.And(n, new(big.Int).SetUint64(1<<64-1)).Uint64(), nil
}
