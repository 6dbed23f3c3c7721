package store

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/singleflight"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// How rank is counted in PostgreSQL: it is 1 + the standings that are ahead in
// the index scores_ranking. On a board of up to smallBoard users these are
// counted, all of them, which is exact and takes milliseconds. On a larger one a
// count from the top would read half the board for each question; there every
// milestoneStep-th standing is remembered with its rank, from one walk over the
// index, and only what lies between the nearest of these and the user is
// counted. Such ranks are exact as of that walk and miss what has moved past the
// milestone since: they are at most milestonesLife old, and as_of says so.
const (
	smallBoard     = 10_000
	milestoneStep  = 1000
	milestonesLife = 2 * time.Second
	// Beyond its life an old walk serves while the next one is under way.
	milestonesOld = 10 * time.Second
	walkTime      = 10 * time.Second
	maxWalked     = 256 // boards whose milestones are kept
)

// milestones are every step-th standing of a board, in order; none on a small
// board.
type milestones struct {
	asOf  time.Time
	total int64
	at    []scoreboard.Position // at[i] has rank (i+1)·step
	step  int64
	made  time.Time
}

// walks keeps the milestones of boards that were asked for.
type walks struct {
	flight singleflight.Group
	small  int64
	step   int64

	mu    sync.Mutex
	known map[scoreboard.BoardID]*milestones
}

func newWalks(small, step int64) *walks {
	return &walks{small: small, step: step, known: make(map[scoreboard.BoardID]*milestones)}
}

// milestones returns those of a board, walking over it where they are old.
func (s *Store) milestones(ctx context.Context, board scoreboard.BoardID) (*milestones, error) {
	w := s.walks
	w.mu.Lock()
	m := w.known[board]
	w.mu.Unlock()
	age := milestonesOld
	if m != nil {
		age = time.Since(m.made)
	}
	if age < milestonesLife {
		return m, nil
	}
	// It outlives who asks first: others wait for it, and the next ones use it.
	next := w.flight.DoChan(string(board), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), walkTime)
		defer cancel()
		return s.walk(ctx, board)
	})
	if age < milestonesOld {
		return m, nil
	}
	select {
	case done := <-next:
		if done.Err != nil {
			return nil, done.Err
		}
		return done.Val.(*milestones), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// walk looks how large a board is, and makes milestones if it is large. Each
// milestone is found from the one before, by the index alone.
func (s *Store) walk(ctx context.Context, board scoreboard.BoardID) (*milestones, error) {
	const walked = `with recursive milestone as (
    (select order_key, reached_at, user_id from scores where board_id = $1 and not hidden
     order by order_key, reached_at, user_id offset $2 - 1 limit 1)
  union all
    select n.order_key, n.reached_at, n.user_id from milestone m cross join lateral (
        select order_key, reached_at, user_id from scores where board_id = $1 and not hidden
        and (order_key, reached_at, user_id) > (m.order_key, m.reached_at, m.user_id)
        order by order_key, reached_at, user_id offset $2 - 1 limit 1) n
) select order_key, reached_at, user_id from milestone`
	m := &milestones{step: s.walks.step}
	err := pgx.BeginTxFunc(ctx, s.pool, readOnly, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, inOrder).Scan(&m.asOf); err != nil {
			return err
		}
		// No further than the question goes: whether it is small.
		err := tx.QueryRow(ctx, `select count(*) from (select from scores where board_id = $1 and not hidden
order by order_key, reached_at, user_id limit $2) few`,
			board, s.walks.small+1).Scan(&m.total)
		if err != nil || m.total <= s.walks.small {
			return err
		}
		rows, err := tx.Query(ctx, walked, board, m.step)
		if err != nil {
			return err
		}
		err = forEach(rows, func() error {
			var p scoreboard.Position
			err := rows.Scan(&p.Key, &p.ReachedAt, &p.User)
			m.at = append(m.at, p)
			return err
		})
		if err != nil {
			return err
		}
		last := beforeAll
		if len(m.at) > 0 {
			last = m.at[len(m.at)-1]
		}
		var rest int64
		err = tx.QueryRow(ctx, `select count(*) from scores where board_id = $1 and not hidden and (order_key, reached_at, user_id) > ($2, $3, $4)`,
			board, last.Key, last.ReachedAt, last.User).Scan(&rest)
		m.total = int64(len(m.at))*m.step + rest
		return err
	})
	if err != nil {
		return nil, err
	}
	m.made = time.Now()
	w := s.walks
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.known) >= maxWalked {
		clear(w.known)
	}
	w.known[board] = m
	return m, nil
}

// inOrder begins a snapshot: it says as of when, and that rows are to be read in
// the order of the index. A planner without good statistics takes the rest of a
// board for a handful of rows, reads all of it and sorts.
const inOrder = `select now() from set_config('enable_sort', 'off', true) sorting, set_config('enable_bitmapscan', 'off', true) maps`

var readOnly = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// reading is one snapshot of a board.
type reading struct {
	pgx.Tx
	board scoreboard.BoardID
	asOf  time.Time
	known *milestones
}

// snapshot calls do with one snapshot of a board. On a large board the answer is
// as old as its milestones.
func (s *Store) snapshot(ctx context.Context, board scoreboard.BoardID, do func(tx *reading) error) error {
	m, err := s.milestones(ctx, board)
	if err != nil {
		return err
	}
	return pgx.BeginTxFunc(ctx, s.pool, readOnly, func(tx pgx.Tx) error {
		r := &reading{Tx: tx, board: board, known: m}
		if err := tx.QueryRow(ctx, inOrder).Scan(&r.asOf); err != nil {
			return err
		}
		if len(m.at) > 0 {
			r.asOf = m.asOf
		}
		r.asOf = r.asOf.UTC()
		return do(r)
	})
}

// total is how many are ranked.
func (tx *reading) total(ctx context.Context) (n int64, err error) {
	if len(tx.known.at) > 0 {
		return tx.known.total, nil
	}
	err = tx.QueryRow(ctx, `select count(*) from scores where board_id = $1 and not hidden`, tx.board).Scan(&n)
	return n, err
}

// ranks counts who is ahead of each position. Positions are in order, so that a
// count can go on from the position before where that is nearer than a
// milestone: together they read a part of the index at most once.
func (tx *reading) ranks(ctx context.Context, of []scoreboard.Position) ([]int64, error) {
	if len(of) == 0 {
		return nil, nil
	}
	n := len(of)
	keys, fromKeys := make([]int64, n), make([]int64, n)
	reached, fromReached := make([]time.Time, n), make([]time.Time, n)
	users, fromUsers := make([]string, n), make([]string, n)
	bases := make([]int64, n) // the rank of where the count begins; -1: the position before
	for i, p := range of {
		from, base := tx.known.before(&p)
		if i > 0 && from.Compare(&of[i-1]) <= 0 {
			from, base = of[i-1], -1
		}
		keys[i], reached[i], users[i] = p.Key, p.ReachedAt, string(p.User)
		fromKeys[i], fromReached[i], fromUsers[i], bases[i] = from.Key, from.ReachedAt, string(from.User), base
	}
	// One probe a row, whatever the statistics say.
	const counts = `select c.n from unnest($2::bigint[], $3::timestamptz[], $4::text[], $5::bigint[], $6::timestamptz[], $7::text[])
    with ordinality as t(k, r, u, fk, fr, fu, i)
cross join lateral (select count(*) as n from scores where board_id = $1 and not hidden
    and (order_key, reached_at, user_id) > (t.fk, t.fr, t.fu) and (order_key, reached_at, user_id) < (t.k, t.r, t.u)) c order by t.i`
	rows, err := tx.Query(ctx, counts, tx.board, keys, reached, users, fromKeys, fromReached, fromUsers)
	if err != nil {
		return nil, err
	}
	ranks := make([]int64, 0, n)
	err = forEach(rows, func() error {
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

// before is the last milestone ahead of a position, and its rank.
func (m *milestones) before(p *scoreboard.Position) (from scoreboard.Position, rank int64) {
	low, high := 0, len(m.at)
	for low < high {
		middle := (low + high) / 2
		if m.at[middle].Compare(p) < 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == 0 {
		return beforeAll, 0
	}
	return m.at[low-1], int64(low) * m.step
}
