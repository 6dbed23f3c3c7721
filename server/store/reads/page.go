package reads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Reads reads standings and statements.
//
// Ranks are counted in the table standings, which follows the scores (package
// standings of the store), in its index standings_ranking (board_id, order_key,
// sub_key, reached_at, user_id), so nothing is sorted. Each read uses one snapshot; as_of is
// that of its standings. From the scores in it come the positions of the users who are
// asked for, so that a user finds what was just recorded, and who is hidden. A user who
// was hidden after as_of is not shown, and still counts in the ranks behind.
type Reads struct {
	db    *pg.DB
	index *rankIndex
	check scoreboard.ProgressCheck // db is a replica; nil: it is the primary
}

// New returns a Reads over db.
func New(db *pg.DB) *Reads {
	return &Reads{db: db, index: newRankIndex(db, smallBoard, anchorStep)}
}

// Replica returns r for a database that is a streaming replica. check is called with the
// progress of the snapshot that an answer comes from. Statements have its time.
func (r *Reads) Replica(check scoreboard.ProgressCheck) *Reads {
	return &Reads{db: r.db, index: r.index, check: check}
}

// beforeAll is a position before every standing.
var beforeAll = scoreboard.Position{Key: -1 << 62, SubKey: -1 << 62, ReachedAt: time.Unix(0, 0)}

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
		const rows = `select user_id, order_key, sub_key, reached_at, recorded_at from standings as s
where board_id = $1 and` + sqlShown + `and (order_key, sub_key, reached_at, user_id) > ($2, $3, $4, $5)
order by order_key, sub_key, reached_at, user_id limit $6`
		found, err := tx.Query(ctx, rows, board.ID, from.Key, from.SubKey, from.ReachedAt, from.User, limit)
		if err != nil {
			return err
		}
		err = pg.ForEach(found, func() error {
			var e scoreboard.Entry
			var key, subKey int64
			var reached, recorded time.Time
			err := found.Scan(&e.User, &key, &subKey, &reached, &recorded)
			pair := board.Pair(key, subKey)
			e.Score, e.Subscore = pair.Score, pair.Subscore
			top.Entries, top.Reached = append(top.Entries, e), append(top.Reached, reached.UTC())
			if recorded.After(top.UpdatedAt) {
				top.UpdatedAt = recorded.UTC()
			}
			return err
		})
		if err != nil {
			return err
		}
		first := []int64{1} // the rank of the first row in the order of the board; before it, the shared one
		if after != nil && len(top.Entries) > 0 {
			at := []scoreboard.Position{top.Position(0, board)}
			if board.SharesRanks() {
				at = []scoreboard.Position{board.RankedAt(at[0]), at[0]}
			}
			if first, err = tx.ranks(ctx, at); err != nil {
				return err
			}
		}
		for i := range top.Entries {
			top.Entries[i].Rank = first[len(first)-1] + int64(i)
		}
		if board.SharesRanks() {
			top.ShareRanks(first[0])
		}
		top.Total, err = tx.total(ctx, nil)
		return err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read %d rows of board %s: %w", limit, board.ID, err))
	}
	return top, nil
}

// sqlShown is whether a standing s is shown, by what hides a user at once: one probe each
// for every row, whatever the statistics.
const sqlShown = ` not s.hidden
and not coalesce((select c.hidden from scores as c where c.user_id = s.user_id and c.board_id = s.board_id), true)
and coalesce((select not u.private and u.status not in ('banned', 'erased')
    from users as u where u.user_id = s.user_id), true)
`

// sqlOwn reads the scores of users on a board and, if they have one, the standings.
// The standing is not filtered on hidden: on a small table or one without statistics
// the planner would consider the ranking index as good as the primary key for that,
// keep the plan, and later read the whole board.
const sqlOwn = `select c.user_id, c.score, c.order_key, c.sub_key, c.reached_at, c.version, c.revision, c.hidden,
    c.hidden and not c.empty and exists (select from users where user_id = c.user_id and private
        and status not in ('banned', 'erased')),
    s.order_key, s.sub_key, s.reached_at, coalesce(s.hidden, true), c.subscore
from unnest($1::text[]) as t(u)
cross join lateral (select * from scores where user_id = t.u and board_id = $2 offset 0) as c
left join lateral (select * from standings where board_id = $2 and user_id = t.u offset 0) as s on true`

// own is a user's score, and the place in standings that ranks are counted with.
type own struct {
	scoreboard.Position
	scoreboard.Pair
	version, revision int64
	hidden            bool
	private           bool                 // why it is hidden
	counted           *scoreboard.Position // nil: none
}

// own reads the scores of those users that have one, in ranking order.
func (tx *snapshot) own(ctx context.Context, users ...scoreboard.UserID) ([]own, error) {
	rows, err := tx.Query(ctx, sqlOwn, users, tx.board)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (o own, err error) {
		var key, subKey *int64
		var reached *time.Time
		var uncounted bool
		err = row.Scan(&o.User, &o.Score, &o.Key, &o.SubKey, &o.ReachedAt, &o.version, &o.revision, &o.hidden,
			&o.private, &key, &subKey, &reached, &uncounted, &o.Subscore)
		if !uncounted {
			o.counted = &scoreboard.Position{Key: *key, SubKey: *subKey, ReachedAt: *reached, User: o.User}
		}
		return o, err
	})
	slices.SortFunc(all, func(a, b own) int { return a.Compare(&b.Position) })
	return all, err
}

// ranksOf ranks scores, which are in ranking order, among each other and among the
// standings of everyone else: those of the same users are not counted. A hidden score has
// the rank that it would have, and no other score counts it.
func (tx *snapshot) ranksOf(ctx context.Context, board *scoreboard.Board, all []own) ([]int64, error) {
	positions := make([]scoreboard.Position, len(all))
	for i := range all {
		positions[i] = board.RankedAt(all[i].Position)
	}
	return tx.ranksAt(ctx, positions, all)
}

// ranksAt is ranksOf for positions in order, none of which is counted itself.
func (tx *snapshot) ranksAt(ctx context.Context, positions []scoreboard.Position, all []own) ([]int64, error) {
	ranks, err := tx.ranks(ctx, positions)
	if err != nil {
		return nil, err
	}
	for i := range positions {
		at := &positions[i]
		for j := range all {
			if !all[j].hidden && all[j].Compare(at) < 0 {
				ranks[i]++
			}
			if c := all[j].counted; c != nil && c.Compare(at) < 0 {
				ranks[i]--
			}
		}
	}
	return ranks, nil
}

// Scores returns the standings of those users who have one, also as private users, without
// ranks, totals and neighbours: it reads their rows only.
func (r *Reads) Scores(
	ctx context.Context, board *scoreboard.Board, users []scoreboard.UserID,
) (found []scoreboard.Place, err error) {
	err = pgx.BeginTxFunc(ctx, r.db, pg.Snapshot, func(tx pgx.Tx) error {
		p, err := pg.CheckProgress(ctx, tx, r.check)
		if err != nil {
			return err
		}
		s := &snapshot{Tx: tx, board: board.ID}
		all, err := s.own(ctx, users...)
		for i := range all {
			if o := &all[i]; !o.hidden || o.private {
				place := scoreboard.Place{Board: board.ID, User: o.User, AsOf: p.AsOf}
				o.describe(&place)
				found = append(found, place)
			}
		}
		return err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the scores of %d users on board %s: %w", len(users), board.ID, err))
	}
	return found, nil
}

// describe sets what a score says about the user alone.
func (o *own) describe(p *scoreboard.Place) {
	p.Private = o.private
	p.Score, p.Subscore = o.Score, o.Subscore
	p.UserVersion, p.Revision, p.UpdatedAt = o.version, o.revision, o.ReachedAt.UTC()
}

// Place returns a user's standing with k neighbours on each side, or a not_found. A private
// user has the one that the score would have.
func (r *Reads) Place(
	ctx context.Context,
	board *scoreboard.Board,
	user scoreboard.UserID,
	k int,
) (*scoreboard.Place, error) {
	p := &scoreboard.Place{Board: board.ID, User: user}
	has, err := r.HasStanding(ctx, board.ID, user) // before anything is counted
	if err != nil {
		return nil, err
	}
	if !has {
		return nil, noStanding(user, board.ID)
	}
	err = r.inSnapshot(ctx, board.ID, func(tx *snapshot) (err error) {
		p.AsOf = tx.asOf
		all, err := tx.own(ctx, user)
		if err == nil && (len(all) == 0 || all[0].hidden && !all[0].private) {
			err = pgx.ErrNoRows
		}
		if err != nil {
			return err
		}
		o := &all[0]
		o.describe(p)
		ranks, err := tx.ranksOf(ctx, board, all)
		if err != nil {
			return err
		}
		p.Rank = ranks[0]
		if k > 0 {
			if p.Neighbours, err = tx.around(ctx, board, p, o, k); err != nil {
				return err
			}
		}
		p.Total, err = tx.total(ctx, all)
		if p.Private {
			p.Total++
		}
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, noStanding(user, board.ID)
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the standing of %s on board %s: %w", user, board.ID, err))
	}
	return p, nil
}

func noStanding(user scoreboard.UserID, board scoreboard.BoardID) error {
	return scoreboard.Errorf(wire.CodeNotFound, "user %s has no score on board %s", user, board)
}

// HasStanding reports whether a user is on a board, or would be without being private; nobody
// is on one that does not exist.
func (r *Reads) HasStanding(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID) (bool, error) {
	const sql = `select exists (select from scores as s where user_id = $1 and board_id = $2 and not empty
    and (not hidden or exists (select from users where user_id = s.user_id and private
        and status not in ('banned', 'erased'))))`
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
	board *scoreboard.Board,
	p *scoreboard.Place,
	own *own,
	k int,
) ([]scoreboard.Entry, error) {
	const others = `select user_id, order_key, sub_key from standings as s
where board_id = $1 and` + sqlShown + `and user_id <> $5 and (order_key, sub_key, reached_at, user_id) `
	const above = others + `< ($2, $3, $4, $5)
order by order_key desc, sub_key desc, reached_at desc, user_id desc limit $6`
	const below = others + `> ($2, $3, $4, $5) order by order_key, sub_key, reached_at, user_id limit $6`
	all := make([]scoreboard.Entry, 0, 2*k+1)
	for _, query := range []string{above, below} {
		rows, err := tx.Query(ctx, query, tx.board, own.Key, own.SubKey, own.ReachedAt, own.User, k)
		if err != nil {
			return nil, err
		}
		err = pg.ForEach(rows, func() error {
			var e scoreboard.Entry
			var key, subKey int64
			err := rows.Scan(&e.User, &key, &subKey)
			pair := board.Pair(key, subKey)
			e.Score, e.Subscore = pair.Score, pair.Subscore
			all = append(all, e)
			return err
		})
		if err != nil {
			return nil, err
		}
		if query == above {
			slices.Reverse(all)
			all = append(all, scoreboard.Entry{
				User: p.User, Score: p.Score, Subscore: p.Subscore, Private: p.Private,
			})
		}
	}
	at := slices.IndexFunc(all, func(e scoreboard.Entry) bool { return e.User == p.User })
	for i := range all {
		all[i].Rank = p.Rank - int64(at) + int64(i)
	}
	if board.SharesRanks() {
		err := tx.shareRanks(ctx, board, all, at, own)
		return all, err
	}
	return all, nil
}

// shareRanks sets the shared ranks of a user's row, which is number at, and those around it.
func (tx *snapshot) shareRanks(
	ctx context.Context, board *scoreboard.Board, rows []scoreboard.Entry, at int, user *own,
) error {
	first := board.RankedAt(board.PositionOf(rows[0].Pair(), time.Time{}, ""))
	ranks, err := tx.ranksAt(ctx, []scoreboard.Position{first, user.Position}, []own{*user})
	if err != nil {
		return err
	}
	for i := range rows {
		rows[i].Rank = ranks[1] - int64(at) + int64(i)
	}
	scoreboard.ShareRanks(rows, ranks[0])
	return nil
}

// List returns the standings of users, best first; private ones have those that they would
// have.
func (r *Reads) List(
	ctx context.Context,
	board *scoreboard.Board,
	users []scoreboard.UserID,
) (*scoreboard.List, error) {
	l := &scoreboard.List{Board: board.ID}
	err := r.inSnapshot(ctx, board.ID, func(tx *snapshot) (err error) {
		l.AsOf, l.Entries, l.Missing = tx.asOf, nil, nil
		found, err := tx.own(ctx, users...)
		if err != nil {
			return err
		}
		ranks, err := tx.ranksOf(ctx, board, found)
		if err != nil {
			return err
		}
		here := make(map[scoreboard.UserID]bool, len(found))
		for i := range found {
			if o := &found[i]; !o.hidden || o.private {
				here[o.User] = true
				l.Entries = append(l.Entries, scoreboard.Entry{
					Rank: ranks[i], User: o.User, Score: o.Score, Subscore: o.Subscore, Private: o.private,
				})
			}
		}
		for _, u := range users {
			if !here[u] {
				l.Missing = append(l.Missing, u)
			}
		}
		l.Total, err = tx.total(ctx, found)
		return err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read %d standings of board %s: %w", len(users), board.ID, err))
	}
	return l, nil
}

// RankOf is the rank that a score and a subscore would have if they were reached now: after every
// standing with the same ones, or with them on a board that shares ranks.
func (r *Reads) RankOf(ctx context.Context, board *scoreboard.Board, pair scoreboard.Pair) (rank int64, err error) {
	next := board.PositionOf(pair, beforeAll.ReachedAt, "")
	if !board.SharesRanks() {
		next.SubKey++
	}
	err = r.inSnapshot(ctx, board.ID, func(tx *snapshot) error {
		ranks, err := tx.ranks(ctx, []scoreboard.Position{next})
		if err == nil {
			rank = ranks[0]
		}
		return err
	})
	if err != nil {
		return 0, pg.Translate(fmt.Errorf("rank %d, %d on board %s: %w", pair.Score, pair.Subscore, board.ID, err))
	}
	return rank, nil
}
