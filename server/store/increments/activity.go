package increments

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	// PostgreSQL's clock is read in a query of its own: only with a constant bound
	// does the planner search the index instead of reading all of it. Reads no more
	// rows than a rule can count on all boards of an event.
	sqlPastActions = `select t.n, h.event_id, h.board_id, h.delta, h.recorded_at, coalesce(h.subscore, 0)
from unnest($1::text[], $2::text[], $3::interval[]) with ordinality as t(u, a, w, n) cross join lateral (
    select event_id, board_id, delta, recorded_at, subscore from user_score_histories
    where user_id = t.u and action = t.a and recorded_at > (select clock_timestamp()) - t.w and source <> 'admin'
    order by recorded_at desc limit $4) as h
order by t.n, h.recorded_at desc`

	// The rows of the last $3 events, or a few more: those of one time, which is one event
	// or a batch, count once. PostgreSQL stops reading at the first row beyond them (before
	// version 15, at $4).
	sqlPastRows = `select t.n, h.event_id, h.board_id, h.delta, h.applied, h.recorded_at, coalesce(h.country, '')
from unnest($1::text[]) with ordinality as t(u, n) cross join lateral (
    select * from (
        select *, dense_rank() over (order by recorded_at desc) as nth from (
            select event_id, board_id, delta, applied, recorded_at, country from user_score_histories
            where user_id collate "POSIX" = t.u and recorded_at > (select clock_timestamp() - $2::interval)
                and source <> 'admin'
            order by recorded_at desc limit $4) as newest) as counted
    where nth <= $3) as h
order by t.n, h.recorded_at desc`
)

// readActivity reads the recent activity of the batch's users under their locks, in
// an extra round trip, only if a rule needs it.
func readActivity(ctx context.Context, conn *pgxpool.Conn, b *ledger.Batch) error {
	a := &b.Activity
	n, window := a.Events()
	if len(a.Actions) == 0 && n == 0 {
		return nil
	}
	var q pgx.Batch
	if len(a.Actions) > 0 {
		limit := scoreboard.MaxQuota * scoreboard.MaxBoards
		q.Queue(sqlPastActions, a.ActionUsers, a.Actions, a.ActionWindows, limit).Query(func(rows pgx.Rows) error {
			return readActions(rows, a)
		})
	}
	if n > 0 {
		limit := n * scoreboard.MaxBoards
		q.Queue(sqlPastRows, b.UserNames, window, n, limit).Query(func(rows pgx.Rows) error {
			return readRows(rows, b)
		})
	}
	return conn.SendBatch(ctx, &q).Close()
}

func readActions(rows pgx.Rows, a *ledger.RecentActivity) error {
	var n int64
	var past scoreboard.PastAction
	var board scoreboard.BoardID
	_, err := pgx.ForEachRow(rows, []any{&n, &past.Event, &board, &past.Delta, &past.At, &past.Subscore}, func() error {
		past.Boards = []scoreboard.BoardID{board}
		a.AddAction(int(n-1), past)
		return nil
	})
	return err
}

func readRows(rows pgx.Rows, b *ledger.Batch) error {
	var n int64
	var r scoreboard.PastRow
	_, err := pgx.ForEachRow(
		rows,
		[]any{&n, &r.Event, &r.Board, &r.Delta, &r.Applied, &r.At, &r.Country},
		func() error {
			b.Activity.AddRow(scoreboard.UserID(b.UserNames[n-1]), r)
			return nil
		},
	)
	return err
}
