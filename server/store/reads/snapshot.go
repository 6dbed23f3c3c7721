package reads

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// sqlInOrder begins a snapshot: it returns its time and makes the planner read rows
// in index order. Without good statistics it would expect the rest of a board to
// be a few rows, read all of it and sort.
const sqlInOrder = `select now() from set_config('enable_sort', 'off', true) sorting, set_config('enable_bitmapscan',
'off', true) maps`

// snapshot is a consistent view of a board.
type snapshot struct {
	pgx.Tx
	board scoreboard.BoardID
	asOf  time.Time
	known *checkpoints
}

// inSnapshot calls do with a consistent view of a board. On a large board the
// answer is as old as its checkpoints.
func (r *Reads) inSnapshot(ctx context.Context, board scoreboard.BoardID, do func(tx *snapshot) error) error {
	c, err := r.index.checkpoints(ctx, board)
	if err != nil {
		return err
	}
	before := time.Now()
	return pgx.BeginTxFunc(ctx, r.db, pg.Snapshot, func(tx pgx.Tx) error {
		s := &snapshot{Tx: tx, board: board, known: c}
		if err := tx.QueryRow(ctx, sqlInOrder).Scan(&s.asOf); err != nil {
			return err
		}
		s.asOf = pg.AsOf(s.asOf, before)
		if len(c.at) > 0 {
			s.asOf = c.asOf
		}
		return do(s)
	})
}

// total is the number of ranked users.
func (tx *snapshot) total(ctx context.Context) (n int64, err error) {
	if len(tx.known.at) > 0 {
		return tx.known.total, nil
	}
	err = tx.QueryRow(ctx, `select count(*) from scores where board_id = $1 and not hidden`, tx.board).Scan(&n)
	return n, err
}

// ranks counts the standings ahead of each position. Positions are in order, so a
// count can continue from the previous position if that is nearer than a
// checkpoint: together they read a part of the index at most once.
func (tx *snapshot) ranks(ctx context.Context, of []scoreboard.Position) ([]int64, error) {
	if len(of) == 0 {
		return nil, nil
	}
	n := len(of)
	keys, fromKeys := make([]int64, n), make([]int64, n)
	reached, fromReached := make([]time.Time, n), make([]time.Time, n)
	users, fromUsers := make([]string, n), make([]string, n)
	bases := make([]int64, n) // the rank at which the count begins; -1: the previous position
	for i, p := range of {
		from, base := tx.known.before(&p)
		if i > 0 && from.Compare(&of[i-1]) <= 0 {
			from, base = of[i-1], -1
		}
		keys[i], reached[i], users[i] = p.Key, p.ReachedAt, string(p.User)
		fromKeys[i], fromReached[i], fromUsers[i], bases[i] = from.Key, from.ReachedAt, string(from.User), base
	}
	// One probe per row, whatever the statistics.
	const counts = `select c.n from unnest($2::bigint[], $3::timestamptz[], $4::text[], $5::bigint[],
$6::timestamptz[], $7::text[])
    with ordinality as t(k, r, u, fk, fr, fu, i)
cross join lateral (select count(*) as n from scores where board_id = $1 and not hidden
    and (order_key, reached_at, user_id) > (t.fk, t.fr, t.fu) and (order_key, reached_at, user_id) < (t.k, t.r,
        t.u)) c order by t.i`
	rows, err := tx.Query(ctx, counts, tx.board, keys, reached, users, fromKeys, fromReached, fromUsers)
	if err != nil {
		return nil, err
	}
	ranks := make([]int64, 0, n)
	err = pg.ForEach(rows, func() error {
		var between int64
		err := rows.Scan(&between)
		base := bases[len(ranks)]
		if base < 0 {
			base = ranks[len(ranks)-1]
		}
		ranks = append(ranks, base+between+1)
		return err
	})
	return ranks, err
}
