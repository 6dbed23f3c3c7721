package reads

import (
	"context"
	"sort"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/singleflight"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// How ranks are counted in PostgreSQL: a rank is 1 + the number of standings ahead
// in the database index standings_ranking. On a board of up to smallBoard users these
// are counted, which is exact and takes milliseconds. On a larger board a count
// from the top would read half the board on average. There, one scan of the index
// stores every anchorStep-th standing with its rank, and only the standings
// between the nearest anchor and the user are counted. Such ranks are exact as
// of the scan and ignore moves across the anchor since then: they are at most
// anchorsTTL old, which as_of shows.
const (
	smallBoard = 10_000
	anchorStep = 1000
	anchorsTTL = 2 * time.Second
	// Expired anchors are used while the next scan runs.
	maxAnchorAge = 10 * time.Second
	scanTimeout  = 10 * time.Second
	maxBoards    = 256 // whose anchors are kept
)

// anchors are every step-th standing of a board, in order; none on a small
// board.
type anchors struct {
	asOf  time.Time
	total int64
	at    []scoreboard.Position // at[i] has rank (i+1)·step
	step  int64
	made  time.Time
	of    scoreboard.Progress // of the database that was scanned
}

// rankIndex caches the anchors of boards that were read.
type rankIndex struct {
	db     *pg.DB
	flight singleflight.Group
	small  int64
	step   int64

	mu    sync.Mutex
	known map[scoreboard.BoardID]*anchors
}

func newRankIndex(db *pg.DB, small, step int64) *rankIndex {
	return &rankIndex{db: db, small: small, step: step, known: make(map[scoreboard.BoardID]*anchors)}
}

// anchors returns those of a board, and scans it if they are too old.
func (x *rankIndex) anchors(ctx context.Context, board scoreboard.BoardID) (*anchors, error) {
	x.mu.Lock()
	c := x.known[board]
	x.mu.Unlock()
	age := maxAnchorAge
	if c != nil {
		age = time.Since(c.made)
	}
	if age < anchorsTTL {
		return c, nil
	}
	// The scan outlives the first caller: others wait for it, and later ones use it.
	next := x.flight.DoChan(string(board), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), scanTimeout)
		defer cancel()
		return x.scan(ctx, board)
	})
	if age < maxAnchorAge {
		return c, nil
	}
	select {
	case done := <-next:
		if done.Err != nil {
			return nil, done.Err
		}
		return done.Val.(*anchors), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// scan counts a board and, if it is large, finds its anchors: each from the
// previous one, using only the database index.
func (x *rankIndex) scan(ctx context.Context, board scoreboard.BoardID) (*anchors, error) {
	const sqlAnchors = `with recursive anchor as (
    (select order_key, sub_key, reached_at, user_id from standings where board_id = $1 and not hidden
     order by order_key, sub_key, reached_at, user_id offset $2 - 1 limit 1)
  union all
    select n.order_key, n.sub_key, n.reached_at, n.user_id from anchor m cross join lateral (
        select order_key, sub_key, reached_at, user_id from standings where board_id = $1 and not hidden
        and (order_key, sub_key, reached_at, user_id) > (m.order_key, m.sub_key, m.reached_at, m.user_id)
        order by order_key, sub_key, reached_at, user_id offset $2 - 1 limit 1) n
) select order_key, sub_key, reached_at, user_id from anchor`
	c := &anchors{step: x.step}
	before := time.Now()
	err := pgx.BeginTxFunc(ctx, x.db, pg.Snapshot, func(tx pgx.Tx) error {
		var err error
		if c.asOf, err = beginInOrder(ctx, tx, before); err != nil {
			return err
		}
		if c.of, err = pg.ReadProgress(ctx, tx); err != nil {
			return err
		}
		// Counts only far enough to decide whether the board is small.
		err = tx.QueryRow(ctx, `select count(*) from (select from standings where board_id = $1 and not hidden
order by order_key, sub_key, reached_at, user_id limit $2) few`,
			board, x.small+1).Scan(&c.total)
		if err != nil || c.total <= x.small {
			return err
		}
		rows, err := tx.Query(ctx, sqlAnchors, board, c.step)
		if err != nil {
			return err
		}
		err = pg.ForEach(rows, func() error {
			var p scoreboard.Position
			err := rows.Scan(&p.Key, &p.SubKey, &p.ReachedAt, &p.User)
			c.at = append(c.at, p)
			return err
		})
		if err != nil {
			return err
		}
		last := beforeAll
		if len(c.at) > 0 {
			last = c.at[len(c.at)-1]
		}
		var rest int64
		err = tx.QueryRow(ctx, `select count(*) from standings
where board_id = $1 and not hidden and (order_key, sub_key, reached_at, user_id) > ($2, $3, $4, $5)`,
			board, last.Key, last.SubKey, last.ReachedAt, last.User).Scan(&rest)
		c.total = int64(len(c.at))*c.step + rest
		return err
	})
	if err != nil {
		return nil, err
	}
	c.made = time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.known) >= maxBoards {
		clear(x.known)
	}
	x.known[board] = c
	return c, nil
}

// before returns the last anchor before a position, and its rank; without one a
// position before all, and 1.
func (c *anchors) before(p *scoreboard.Position) (from scoreboard.Position, rank int64) {
	n := sort.Search(len(c.at), func(i int) bool { return c.at[i].Compare(p) >= 0 })
	if n == 0 {
		return beforeAll, 1
	}
	return c.at[n-1], int64(n) * c.step
}
