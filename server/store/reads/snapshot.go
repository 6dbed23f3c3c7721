package reads

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// sqlInOrder begins a snapshot: it returns its time and that of the standings in it,
// and makes the planner read rows in index order. Without good statistics it would
// expect the rest of a board to be a few rows, read all of it and sort.
const sqlInOrder = `select now(), as_of from standings_state, set_config('enable_sort', 'off', true) sorting,
set_config('enable_bitmapscan', 'off', true) maps`

// beginInOrder begins the reads of a snapshot that began after before. It returns the time up
// to which the standings are complete, or an unavailable if they are not yet.
func beginInOrder(ctx context.Context, tx pgx.Tx, before time.Time) (asOf time.Time, err error) {
	var now time.Time
	var complete *time.Time
	if err := tx.QueryRow(ctx, sqlInOrder).Scan(&now, &complete); err != nil {
		return asOf, err
	}
	if complete == nil {
		return asOf, errIncomplete
	}
	// The age is a difference of the database's clock, so that its offset from this
	// process's does not matter. A time ahead was set before the clock went back.
	age := max(now.Sub(*complete), 0)
	return pg.AsOf(now, before).Add(-age), nil
}

// errIncomplete is the error of all reads that rank users until the standings are filled:
// in a database that was restored, or of which the standings were not updated for hours.
var errIncomplete = &scoreboard.Error{
	Code: wire.CodeUnavailable, RetryAfter: time.Second,
	Message: "the standings are being filled in the database",
}

// snapshot is a consistent view of a board.
type snapshot struct {
	pgx.Tx
	board scoreboard.BoardID
	asOf  time.Time
	known *anchors
}

// inSnapshot calls do with a consistent view of a board. On a large board the
// answer is as old as its anchors.
func (r *Reads) inSnapshot(ctx context.Context, board scoreboard.BoardID, do func(tx *snapshot) error) error {
	c, err := r.index.anchors(ctx, board)
	if err != nil {
		return err
	}
	before := time.Now()
	return pgx.BeginTxFunc(ctx, r.db, pg.Snapshot, func(tx pgx.Tx) error {
		s := &snapshot{Tx: tx, board: board, known: c}
		p, err := pg.CheckProgress(ctx, tx, r.check)
		if err == nil && r.check != nil {
			// The anchors may be of another server. They may also be older.
			err = r.check(scoreboard.Progress{AsOf: p.AsOf, ID: c.of.ID, Replica: c.of.Replica})
		}
		if err != nil {
			return err
		}
		if s.asOf, err = beginInOrder(ctx, tx, before); err != nil {
			return err
		}
		if len(c.at) > 0 {
			s.asOf = c.asOf
		}
		return do(s)
	})
}

// total is the number of ranked users: all with a standing, and those of some scores that
// have none yet, without those that are hidden by now.
func (tx *snapshot) total(ctx context.Context, some []own) (n int64, err error) {
	if len(tx.known.at) > 0 {
		n = tx.known.total
	} else {
		const count = `select count(*) from standings where board_id = $1 and not hidden`
		if err = tx.QueryRow(ctx, count, tx.board).Scan(&n); err != nil {
			return 0, err
		}
	}
	for i := range some {
		switch {
		case some[i].hidden && some[i].counted != nil:
			n--
		case !some[i].hidden && some[i].counted == nil:
			n++
		}
	}
	return n, nil
}

// ranks returns the rank of each position: 1 + the standings ahead of it. Positions are in
// order, so a count can continue from the previous position if that is nearer than a
// anchor: together they read a part of the index at most once.
func (tx *snapshot) ranks(ctx context.Context, of []scoreboard.Position) ([]int64, error) {
	if len(of) == 0 {
		return nil, nil
	}
	n := len(of)
	keys, fromKeys := make([]int64, n), make([]int64, n)
	subKeys, fromSubKeys := make([]int64, n), make([]int64, n)
	reached, fromReached := make([]time.Time, n), make([]time.Time, n)
	users, fromUsers := make([]string, n), make([]string, n)
	bases := make([]int64, n) // the rank where the count begins; 0: of the previous position
	for i, p := range of {
		from, base := tx.known.before(&p)
		if i > 0 && from.Compare(&of[i-1]) <= 0 {
			from, base = of[i-1], 0
		}
		keys[i], subKeys[i], reached[i], users[i] = p.Key, p.SubKey, p.ReachedAt, string(p.User)
		fromKeys[i], fromSubKeys[i], fromReached[i] = from.Key, from.SubKey, from.ReachedAt
		fromUsers[i], bases[i] = string(from.User), base
	}
	// One probe per row, whatever the statistics.
	const counts = `select c.n from unnest($2::bigint[], $3::timestamptz[], $4::text[], $5::bigint[],
$6::timestamptz[], $7::text[], $8::bigint[], $9::bigint[])
    with ordinality as t(k, r, u, fk, fr, fu, s, fs, i)
cross join lateral (select count(*) as n from standings where board_id = $1 and not hidden
    and (order_key, sub_key, reached_at, user_id) >= (t.fk, t.fs, t.fr, t.fu)
    and (order_key, sub_key, reached_at, user_id) < (t.k, t.s, t.r, t.u)) c order by t.i`
	rows, err := tx.Query(ctx, counts, tx.board, keys, reached, users, fromKeys, fromReached, fromUsers,
		subKeys, fromSubKeys)
	if err != nil {
		return nil, err
	}
	ranks := make([]int64, 0, n)
	err = pg.ForEach(rows, func() error {
		var between int64
		err := rows.Scan(&between)
		base := bases[len(ranks)]
		if base == 0 {
			base = ranks[len(ranks)-1]
		}
		ranks = append(ranks, base+between)
		return err
	})
	return ranks, err
}
