// Package reads answers reads from PostgreSQL: those that the ranking in Redis
// usually answers, in exactly the same order, and users' statements, which are
// only here.
package reads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Reads reads standings and statements.
//
// All reads of standings use the database index scores_ranking (board_id,
// order_key, reached_at, user_id), so nothing is sorted. Each uses one snapshot;
// as_of is when its transaction began.
type Reads struct {
	db    *pg.DB
	index *rankIndex
}

// New returns a Reads over db.
func New(db *pg.DB) *Reads { return &Reads{db, newRankIndex(db, smallBoard, checkpointStep)} }

// beforeAll is a position before every standing.
var beforeAll = scoreboard.Position{Key: -1 << 62, ReachedAt: time.Unix(0, 0)}

// Page returns up to limit standings after a position; nil is the head.
func (r *Reads) Page(
	ctx context.Context,
	board *scoreboard.Board,
	after *scoreboard.Position,
	limit int,
) (*scoreboard.Top, error) {
	top := &scoreboard.Top{
		Board:     board.ID,
		UpdatedAt: board.Created.UTC(), // as in the ranking, where nothing was recorded since
		Entries:   make([]scoreboard.Entry, 0, limit),
		Reached:   make([]time.Time, 0, limit),
	}
	from := &beforeAll
	if after != nil {
		from = after
	}
	err := r.inSnapshot(ctx, board.ID, func(tx *snapshot) (err error) {
		top.AsOf = tx.asOf
		const rows = `select user_id, score, reached_at, recorded_at from scores where board_id = $1 and not hidden
and (order_key, reached_at, user_id) > ($2, $3, $4) order by order_key, reached_at, user_id limit $5`
		found, err := tx.Query(ctx, rows, board.ID, from.Key, from.ReachedAt, from.User, limit)
		if err != nil {
			return err
		}
		err = pg.ForEach(found, func() error {
			var e scoreboard.Entry
			var reached, recorded time.Time
			err := found.Scan(&e.User, &e.Score, &reached, &recorded)
			top.Entries, top.Reached = append(top.Entries, e), append(top.Reached, reached.UTC())
			if recorded.After(top.UpdatedAt) {
				top.UpdatedAt = recorded.UTC()
			}
			return err
		})
		if err != nil {
			return err
		}
		first := int64(1)
		if after != nil && len(top.Entries) > 0 {
			p := top.Position(0, board.Order)
			ranks, err := tx.ranks(ctx, []scoreboard.Position{p})
			if err != nil {
				return err
			}
			first = ranks[0]
		}
		for i := range top.Entries {
			top.Entries[i].Rank = first + int64(i)
		}
		top.Total, err = tx.total(ctx)
		return err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read %d rows of board %s: %w", limit, board.ID, err))
	}
	return top, nil
}

// ownStanding does not filter on hidden: on a small table or one without
// statistics the planner would consider the ranking index as good as the primary
// key for that, keep the plan, and later read the whole board.
const ownStanding = `select score, order_key, reached_at, version, revision, hidden from scores where user_id = $1
and board_id = $2`

// Place returns a user's standing with k neighbors on each side, or a not_found.
func (r *Reads) Place(
	ctx context.Context,
	board *scoreboard.Board,
	user scoreboard.UserID,
	k int,
) (*scoreboard.Place, error) {
	p := &scoreboard.Place{Board: board.ID, User: user}
	err := r.inSnapshot(ctx, board.ID, func(tx *snapshot) (err error) {
		p.AsOf = tx.asOf
		own := scoreboard.Position{User: user}
		var hidden bool
		err = tx.QueryRow(ctx, ownStanding, user, board.ID).
			Scan(&p.Score, &own.Key, &own.ReachedAt, &p.UserVersion, &p.Revision, &hidden)
		if err == nil && hidden {
			err = pgx.ErrNoRows
		}
		if err != nil {
			return err
		}
		p.UpdatedAt = own.ReachedAt.UTC()
		ranks, err := tx.ranks(ctx, []scoreboard.Position{own})
		if err != nil {
			return err
		}
		p.Rank = ranks[0]
		if k > 0 {
			if p.Neighbours, err = tx.around(ctx, p, &own, k); err != nil {
				return err
			}
		}
		p.Total, err = tx.total(ctx)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, scoreboard.Errorf(scoreboard.CodeNotFound, "user %s has no score on board %s", user, board.ID)
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the standing of %s on board %s: %w", user, board.ID, err))
	}
	return p, nil
}

// HasStanding reports whether a user is on a board; nobody is on one that does not exist.
func (r *Reads) HasStanding(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID) (bool, error) {
	const sql = `select exists (select from scores where user_id = $1 and board_id = $2 and not hidden)`
	has := false
	err := r.db.QueryRow(ctx, sql, user, board).Scan(&has)
	if err != nil {
		return false, pg.Translate(fmt.Errorf("look for %s on board %s: %w", user, board, err))
	}
	return has, nil
}

// around reads the standings above the user (nearest first) and below, and puts
// the user between them.
func (tx *snapshot) around(
	ctx context.Context,
	p *scoreboard.Place,
	own *scoreboard.Position,
	k int,
) ([]scoreboard.Entry, error) {
	const above = `select user_id, score from scores where board_id = $1 and not hidden
and (order_key, reached_at, user_id) < ($2, $3, $4) order by order_key desc, reached_at desc, user_id desc limit $5`
	const below = `select user_id, score from scores where board_id = $1 and not hidden
and (order_key, reached_at, user_id) > ($2, $3, $4) order by order_key, reached_at, user_id limit $5`
	all := make([]scoreboard.Entry, 0, 2*k+1)
	for _, query := range []string{above, below} {
		rows, err := tx.Query(ctx, query, tx.board, own.Key, own.ReachedAt, own.User, k)
		if err != nil {
			return nil, err
		}
		err = pg.ForEach(rows, func() error {
			var e scoreboard.Entry
			err := rows.Scan(&e.User, &e.Score)
			all = append(all, e)
			return err
		})
		if err != nil {
			return nil, err
		}
		if query == above {
			slices.Reverse(all)
			all = append(all, scoreboard.Entry{User: p.User, Score: p.Score})
		}
	}
	at := slices.IndexFunc(all, func(e scoreboard.Entry) bool { return e.User == p.User })
	for i := range all {
		all[i].Rank = p.Rank - int64(at) + int64(i)
	}
	return all, nil
}

// List returns the standings of users, best first.
func (r *Reads) List(
	ctx context.Context,
	board *scoreboard.Board,
	users []scoreboard.UserID,
) (*scoreboard.List, error) {
	l := &scoreboard.List{Board: board.ID}
	err := r.inSnapshot(ctx, board.ID, func(tx *snapshot) (err error) {
		l.AsOf, l.Entries, l.Missing = tx.asOf, nil, nil
		var found []scoreboard.Position
		// As ownStanding, for each user.
		rows, err := tx.Query(
			ctx,
			`select s.user_id, s.order_key, s.reached_at, s.hidden from unnest($1::text[]) as t(u)
cross join lateral (select user_id, order_key, reached_at, hidden from scores where user_id = t.u
    and board_id = $2 offset 0) s`,
			users,
			board.ID,
		)
		if err != nil {
			return err
		}
		err = pg.ForEach(rows, func() error {
			var p scoreboard.Position
			var hidden bool
			err := rows.Scan(&p.User, &p.Key, &p.ReachedAt, &hidden)
			if !hidden {
				found = append(found, p)
			}
			return err
		})
		if err != nil {
			return err
		}
		slices.SortFunc(found, func(a, b scoreboard.Position) int { return a.Compare(&b) })
		ranks, err := tx.ranks(ctx, found)
		if err != nil {
			return err
		}
		here := make(map[scoreboard.UserID]bool, len(found))
		for i, p := range found {
			here[p.User] = true
			l.Entries = append(
				l.Entries,
				scoreboard.Entry{Rank: ranks[i], User: p.User, Score: board.Order.Score(p.Key)},
			)
		}
		for _, u := range users {
			if !here[u] {
				l.Missing = append(l.Missing, u)
			}
		}
		l.Total, err = tx.total(ctx)
		return err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read %d standings of board %s: %w", len(users), board.ID, err))
	}
	return l, nil
}

// RankOf is the rank that a score would have if it were reached now: after every
// standing with the same score.
func (r *Reads) RankOf(ctx context.Context, board *scoreboard.Board, score scoreboard.Score) (rank int64, err error) {
	next := scoreboard.Position{Key: board.Order.Key(score) + 1, ReachedAt: beforeAll.ReachedAt}
	err = r.inSnapshot(ctx, board.ID, func(tx *snapshot) error {
		ranks, err := tx.ranks(ctx, []scoreboard.Position{next})
		if err == nil {
			rank = ranks[0]
		}
		return err
	})
	if err != nil {
		return 0, pg.Translate(fmt.Errorf("rank %d on board %s: %w", score, board.ID, err))
	}
	return rank, nil
}
