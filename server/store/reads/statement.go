package reads

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// The collation is that of the index for statements.
const sqlStatement = `select ` + pg.LedgerColumns + `
from user_score_histories as h
where user_id collate "POSIX" = $1 and recorded_at >= $2 and recorded_at < $3
  and ($4 = '' or board_id = $4 or split_part(board_id, ':', 1) = $4)
  and recorded_at <= $5 and (recorded_at, board_id, version) < ($5, $6, $7)
order by recorded_at desc, board_id desc, version desc limit $8`

// A user's versions on a board count from 1 without a gap, so rows missing at the
// beginning are in the archive. The name of the first partition is the start of
// the ledger.
const sqlArchived = `select count(*), coalesce(bool_or(kept.first is distinct from 1), false), (
    select min(to_date(right(c.relname, 8), 'YYYYMMDD')::timestamp) at time zone 'UTC'
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'user_score_histories'::regclass and c.relname ~ '^user_score_histories_[0-9]{8}$')
from scores s left join (
    select board_id, min(version) as first from user_score_histories where user_id collate "POSIX" = $1
        group by board_id
) as kept on kept.board_id = s.board_id
where s.user_id = $1 and s.version > 0 and ($2 = '' or s.board_id = $2 or split_part(s.board_id, ':', 1) = $2)`

// Bounds of times, boards and versions.
var (
	endOfTime   = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	startOfTime = time.Unix(0, 0)
)

const endOfBoards = "~" // after every board id

// Statement returns a page of a user's ledger rows, newest first, or a not_found
// if the user has no score on the board.
func (r *Reads) Statement(ctx context.Context, q scoreboard.StatementQuery) (*scoreboard.Statement, error) {
	if q.From.IsZero() {
		q.From = startOfTime
	}
	if q.To.IsZero() {
		q.To = endOfTime
	}
	if q.After == (scoreboard.StatementPosition{}) {
		q.After = scoreboard.StatementPosition{RecordedAt: endOfTime, Board: endOfBoards, Version: math.MaxInt64}
	}
	if r.check == nil {
		st, err := statement(ctx, r.db, &q)
		if err != nil {
			return nil, pg.Translate(fmt.Errorf("read the statement of %s: %w", q.User, err))
		}
		return st, nil
	}
	var st *scoreboard.Statement
	err := pgx.BeginTxFunc(ctx, r.db, pg.Snapshot, func(tx pgx.Tx) error {
		p, err := pg.CheckProgress(ctx, tx, r.check)
		if err == nil {
			st, err = statement(ctx, tx, &q)
		}
		if err == nil {
			st.AsOf = p.AsOf
		}
		return err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the statement of %s: %w", q.User, err))
	}
	return st, nil
}

func statement(ctx context.Context, db pg.Querier, q *scoreboard.StatementQuery) (*scoreboard.Statement, error) {
	rows, err := db.Query(ctx, sqlStatement, q.User, q.From, q.To, q.Board,
		q.After.RecordedAt, q.After.Board, q.After.Version, q.Limit+1)
	if err != nil {
		return nil, err
	}
	st := &scoreboard.Statement{}
	if st.Rows, err = pgx.CollectRows(rows, pg.ScanLedger); err != nil {
		return nil, err
	}
	if st.More = len(st.Rows) > q.Limit; st.More {
		st.Rows = st.Rows[:q.Limit]
		return st, nil
	}
	return st, lookForArchived(ctx, db, q, st)
}

// lookForArchived completes the last page of a statement.
func lookForArchived(
	ctx context.Context, db pg.Querier, q *scoreboard.StatementQuery, st *scoreboard.Statement,
) error {
	var boards int64
	var archived bool
	var begins *time.Time
	if err := db.QueryRow(ctx, sqlArchived, q.User, q.Board).Scan(&boards, &archived, &begins); err != nil {
		return fmt.Errorf("check for archived rows: %w", err)
	}
	if boards == 0 && len(st.Rows) == 0 {
		return scoreboard.Errorf(wire.CodeNotFound, "user %s has no score", q.User)
	}
	if archived && begins == nil {
		return errors.New("the ledger has no partition") // migrations and maintenance create them
	}
	if archived && q.From.Before(*begins) {
		st.ArchivedBefore = begins.UTC()
	}
	return nil
}
