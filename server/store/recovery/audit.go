package recovery

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// The ledger is read once, in any order, and added up. A user whose oldest rows are
// archived starts from the score before the first remaining row; a score older than
// the remaining ledger may have no rows at all. The collation is that of the index for
// statements.
const sqlAudit = `select coalesce(l.user_id, s.user_id), coalesce(l.rows, 0), coalesce(l.first, 0), coalesce(l.last, 0),
    greatest(least(coalesce(l.applied, 0) + case when l.first > 1 then (
        select new_score::numeric - applied from user_score_histories as h
        where h.user_id collate "POSIX" = l.user_id and h.board_id = $1 order by version limit 1) else 0 end,
        9223372036854775807), -9223372036854775807)::bigint,
    coalesce(s.score, 0), coalesce(s.order_key, 0), coalesce(s.version, 0), coalesce(s.revision, 0),
    coalesce(s.reached_at, 'epoch'), coalesce(s.recorded_at, 'epoch'), coalesce(s.hidden, false),
    coalesce(s.reached_at < (select min(to_date(right(inhrelid::regclass::text, 8),
        'YYYYMMDD')::timestamp at time zone 'UTC')
        from pg_inherits where inhparent = 'user_score_histories'::regclass), false),
    coalesce(s.uncounted, 0), case when l.undone then coalesce(s.uncounted, 0) else coalesce(l.corrections, 0) end,
    greatest(least(coalesce(l.subscores, 0) + case when l.first > 1 then (
        select coalesce(previous_subscore, 0)::numeric from user_score_histories as h
        where h.user_id collate "POSIX" = l.user_id and h.board_id = $1 order by version limit 1) else 0 end,
        9223372036854775807), -9223372036854775807)::bigint, coalesce(s.subscore, 0), coalesce(s.sub_key, 0)
from (
    select user_id, count(*) as rows, min(version) as first, max(version) as last, sum(applied) as applied,
        sum(new_subscore - coalesce(previous_subscore, 0)) as subscores,
        count(*) filter (where source = 'admin') + count(*) filter (where source = 'admin' and exists (
            select from reversals as r where r.user_id = h.user_id and r.reversal_id = h.event_id and not r.internal))
        as corrections,
        -- The undo of a void leaves out boards that have ended, where the ledger does not say what it took back.
        bool_or(source = 'admin' and exists (select from voids as v cross join lateral (select from void_events as e
            where e.void_id = v.id and e.user_id = h.user_id and e.state = 'undone' limit 1) as e)) as undone
    from user_score_histories as h where board_id = $1 and ($2 = '' or user_id collate "POSIX" = $2) group by
    user_id) as l
full join (select * from scores where board_id = $1 and ($2 = '' or user_id = $2)) as s on s.user_id = l.user_id`

// SumLedger calls do with the sum of every user's ledger on a board and the score, from
// one snapshot, in chunks of at most size; a non-empty user restricts it.
func (r *Recovery) SumLedger(
	ctx context.Context,
	board scoreboard.BoardID,
	user scoreboard.UserID,
	size int,
	do func([]scoreboard.LedgerSum) error,
) error {
	scan := func(row pgx.CollectableRow) (a scoreboard.LedgerSum, err error) {
		a.Change = scoreboard.Change{Type: scoreboard.ChangeScore, Board: board}
		err = row.Scan(&a.User, &a.Rows, &a.First, &a.Last, &a.Expected, &a.Score, &a.Key, &a.Version, &a.Revision,
			&a.ReachedAt, &a.RecordedAt, &a.Hidden, &a.Archived, &a.Uncounted, &a.Corrections, &a.ExpectedSubscore,
			&a.Subscore, &a.SubKey)
		return a, err
	}
	err := pg.InChunks(ctx, r.db, "audit", size, scan, do, sqlAudit, board, user)
	if err != nil {
		return pg.Translate(fmt.Errorf("add up the ledger of board %s: %w", board, err))
	}
	return nil
}

// States returns the current states of those users that have one on a board.
func (r *Recovery) States(
	ctx context.Context,
	board scoreboard.BoardID,
	users []scoreboard.UserID,
) ([]scoreboard.Change, error) {
	rows, err := r.db.Query(ctx, `select s.* from unnest($1::text[]) as t(u) cross join lateral (
    select `+pg.StateColumns+` from scores where user_id = t.u and board_id = $2 offset 0) as s`, users, board)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read %d states of board %s: %w", len(users), board, err))
	}
	states, err := pgx.CollectRows(rows, pg.ScanState)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read %d states of board %s: %w", len(users), board, err))
	}
	return states, nil
}

// WithoutScore returns those of the users that have no score on a board.
func (r *Recovery) WithoutScore(
	ctx context.Context,
	board scoreboard.BoardID,
	users []scoreboard.UserID,
) ([]scoreboard.UserID, error) {
	// One probe per user, in the order of the index.
	rows, err := r.db.Query(ctx, `select u from unnest($1::text[]) as t(u)
where (select true from scores where board_id = $2 and user_id = t.u) is null`,
		slices.Sorted(slices.Values(users)), board)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("look for the scores of %d users of board %s: %w", len(users), board, err))
	}
	without, err := pgx.CollectRows(rows, pgx.RowTo[scoreboard.UserID])
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("look for the scores of %d users of board %s: %w", len(users), board, err))
	}
	return without, nil
}

// CountScores counts the scores on a board, including hidden ones.
func (r *Recovery) CountScores(ctx context.Context, board scoreboard.BoardID) (n int64, err error) {
	if err := r.db.QueryRow(ctx, `select count(*) from scores where board_id = $1`, board).Scan(&n); err != nil {
		return 0, pg.Translate(fmt.Errorf("count the scores of board %s: %w", board, err))
	}
	return n, nil
}

// StatesAfter returns at most limit states after a user and board, in the order of the
// primary key, so that repeated calls visit all.
func (r *Recovery) StatesAfter(
	ctx context.Context,
	user scoreboard.UserID,
	board scoreboard.BoardID,
	limit int,
) ([]scoreboard.Change, error) {
	rows, err := r.db.Query(ctx, `select `+pg.StateColumns+` from scores where (user_id, board_id) > ($1, $2)
order by user_id, board_id limit $3`, user, board, limit)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("page through the scores: %w", err))
	}
	states, err := pgx.CollectRows(rows, pg.ScanState)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("page through the scores: %w", err))
	}
	return states, nil
}
