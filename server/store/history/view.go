package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// view is the standings of a board at a moment: those of a checkpoint, without the users
// that changed since, and these with what they had at the moment.
type view struct {
	tx         pgx.Tx
	board      *scoreboard.Board
	checkpoint int64
	blocks     []block
	total      int64

	// Most reads need few of the standings that changed, so these are in no order.
	changes  map[scoreboard.UserID]*change
	leftKeys []keys                // in the checkpoint, of users whose standing is another one
	joined   []scoreboard.Position // the standings that are not of the checkpoint
	hidden   map[scoreboard.UserID]struct{}
	out      map[scoreboard.UserID]scoreboard.Position // the standings of the hidden users
}

// block is a part of a checkpoint.
type block struct {
	first     standing // without a number
	before    int64    // standings in earlier blocks
	users     int
	standings []standing            // nil: not read yet
	positions []scoreboard.Position // nil: not read yet
}

func (v *view) entry(p *scoreboard.Position, rank int64) scoreboard.Entry {
	pair := v.board.Pair(p.Key, p.SubKey)
	return scoreboard.Entry{Rank: rank, User: p.User, Score: pair.Score, Subscore: pair.Subscore}
}

// readBlocks reads where the blocks begin.
func (v *view) readBlocks(ctx context.Context) error {
	rows, err := v.tx.Query(ctx, `select users, order_key, sub_key, (extract(epoch from reached_at) * 1000000)::bigint
from checkpoint_blocks where checkpoint_id = $1 and block >= 0 order by block`, v.checkpoint)
	if err != nil {
		return err
	}
	return pg.ForEach(rows, func() error {
		b := block{before: v.total}
		err := rows.Scan(&b.users, &b.first.key, &b.first.subKey, &b.first.reached)
		v.total += int64(b.users)
		v.blocks = append(v.blocks, b)
		return err
	})
}

func (v *view) standings(ctx context.Context, i int) ([]standing, error) {
	b := &v.blocks[i]
	if b.standings != nil {
		return b.standings, nil
	}
	var encoded []byte
	err := v.tx.QueryRow(ctx, `select standings from checkpoint_blocks where checkpoint_id = $1 and block = $2`,
		v.checkpoint, i).Scan(&encoded)
	if err == nil {
		b.standings, err = readStandings(encoded, b.users, v.board)
	}
	return b.standings, err
}

// positions returns the standings of block i with their users, in order.
func (v *view) positions(ctx context.Context, i int) ([]scoreboard.Position, error) {
	b := &v.blocks[i]
	if b.positions != nil {
		return b.positions, nil
	}
	standings, err := v.standings(ctx, i)
	if err != nil {
		return nil, err
	}
	b.positions, err = named(ctx, v.tx, standings)
	return b.positions, err
}

// named returns the positions of standings.
func named(ctx context.Context, tx pgx.Tx, standings []standing) ([]scoreboard.Position, error) {
	index := make(map[int64]int, len(standings))
	numbers := make([]int64, len(standings))
	for i := range standings {
		numbers[i], index[standings[i].number] = standings[i].number, i
	}
	rows, err := tx.Query(ctx, `select number, user_id from checkpoint_users where number = any($1)`, numbers)
	if err != nil {
		return nil, err
	}
	positions := make([]scoreboard.Position, len(standings))
	found := 0
	err = pg.ForEach(rows, func() error {
		var number int64
		var user scoreboard.UserID
		err := rows.Scan(&number, &user)
		if i, ok := index[number]; ok {
			positions[i] = standings[i].position(user)
			found++
		}
		return err
	})
	if err == nil && found < len(standings) {
		err = fmt.Errorf("%w: %d users are unknown", errBlock, len(standings)-found)
	}
	return positions, err
}

// entries returns rows of standings, of which the first has this rank in the order of the board.
func (v *view) entries(ctx context.Context, of []scoreboard.Position, first int64) ([]scoreboard.Entry, error) {
	rows := make([]scoreboard.Entry, 0, len(of))
	for i := range of {
		rows = append(rows, v.entry(&of[i], first+int64(i)))
	}
	if len(rows) == 0 || !v.board.SharesRanks() {
		return rows, nil
	}
	shared, err := v.sharedRank(ctx, &of[0])
	scoreboard.ShareRanks(rows, shared)
	return rows, err
}

// sharedRank is the rank of a standing as the board has ranks.
func (v *view) sharedRank(ctx context.Context, p *scoreboard.Position) (int64, error) {
	at := v.board.RankedAt(*p)
	return v.rank(ctx, &at)
}

// ordinal is the rank of a standing in the order of the board; rank is as the board has ranks.
func (v *view) ordinal(ctx context.Context, p *scoreboard.Position, rank int64) (int64, error) {
	if !v.board.SharesRanks() {
		return rank, nil
	}
	return v.rank(ctx, p)
}

// blockOf returns the first block that can have a standing at or after p; it may be beyond
// the last one. All blocks before it are ahead of p.
func (v *view) blockOf(p *scoreboard.Position) int {
	i := sort.Search(len(v.blocks), func(i int) bool { return v.blocks[i].first.compare(p) >= 0 })
	return max(i-1, 0)
}

// rank is 1 + the standings ahead of p, in the order of the board.
func (v *view) rank(ctx context.Context, p *scoreboard.Position) (int64, error) {
	ahead, err := v.ahead(ctx, p)
	if err != nil {
		return 0, err
	}
	rank := 1 + ahead
	for i := range v.joined {
		if v.joined[i].Compare(p) < 0 {
			rank++
		}
	}
	equal, at := false, keysOf(p)
	for _, k := range v.leftKeys {
		c := k.compare(at)
		equal = equal || c == 0
		if c < 0 {
			rank--
		}
	}
	// Those of the same keys are ahead or not by their times, which only the blocks tell.
	if equal {
		first := at.position(time.Time{}, "")
		err = v.walk(ctx, &first, func(q *scoreboard.Position) bool {
			if v.left(q.User) && keysOf(q) == at && q.Compare(p) < 0 {
				rank--
			}
			return q.Compare(p) < 0
		})
	}
	return rank, err
}

// ahead counts the standings of the checkpoint ahead of p.
func (v *view) ahead(ctx context.Context, p *scoreboard.Position) (n int64, err error) {
	i := v.blockOf(p)
	if i >= len(v.blocks) {
		return 0, nil
	}
	for n = v.blocks[i].before; i < len(v.blocks); i++ {
		standings, err := v.standings(ctx, i)
		if err != nil {
			return 0, err
		}
		for j := range standings {
			c := standings[j].compare(p)
			if c == 0 {
				positions, err := v.positions(ctx, i)
				if err != nil {
					return 0, err
				}
				c = positions[j].Compare(p)
			}
			if c >= 0 {
				return n, nil
			}
			n++
		}
	}
	return n, nil
}

// walk calls do with the standings of the checkpoint from p on until it returns false.
func (v *view) walk(ctx context.Context, p *scoreboard.Position, do func(*scoreboard.Position) bool) error {
	for i := v.blockOf(p); i < len(v.blocks); i++ {
		positions, err := v.positions(ctx, i)
		if err != nil {
			return err
		}
		for j := range positions {
			if positions[j].Compare(p) >= 0 && !do(&positions[j]) {
				return nil
			}
		}
	}
	return nil
}

// following returns the next standings at or after p, at most n.
func (v *view) following(ctx context.Context, p *scoreboard.Position, n int) (next []scoreboard.Position, err error) {
	err = v.walk(ctx, p, func(q *scoreboard.Position) bool {
		if !v.left(q.User) {
			next = append(next, *q)
		}
		return len(next) < n
	})
	inOrder := func(p, q *scoreboard.Position) int { return p.Compare(q) }
	next = append(next, first(v.joined, n, func(q *scoreboard.Position) bool { return q.Compare(p) >= 0 }, inOrder)...)
	return first(next, n, func(*scoreboard.Position) bool { return true }, inOrder), err
}

// left reports whether the standing that a user has in the checkpoint does not count.
func (v *view) left(user scoreboard.UserID) bool {
	if c := v.changes[user]; c != nil && c.left {
		return true
	}
	_, hidden := v.hidden[user]
	return hidden
}

// first returns the first n of the positions that which selects, in order. It sorts no more than
// it has to: a page is a hundred of hundreds of thousands.
func first(
	of []scoreboard.Position, n int, which func(*scoreboard.Position) bool,
	compare func(p, q *scoreboard.Position) int,
) (kept []scoreboard.Position) {
	cut := false // kept has n positions in order, and perhaps others ahead of the last of these
	sort := func() {
		slices.SortFunc(kept, func(p, q scoreboard.Position) int { return compare(&p, &q) })
		if cut = len(kept) >= n; cut {
			kept = kept[:n]
		}
	}
	for i := range of {
		p := &of[i]
		if !which(p) || cut && compare(p, &kept[n-1]) >= 0 {
			continue
		}
		if kept = append(kept, *p); len(kept) >= 2*n {
			sort()
		}
	}
	sort()
	return kept
}

// preceding returns the last n standings ahead of p.
func (v *view) preceding(ctx context.Context, p *scoreboard.Position, n int) (last []scoreboard.Position, err error) {
	for i := min(v.lastBlock(p), len(v.blocks)-1); i >= 0 && len(last) < n; i-- {
		positions, err := v.positions(ctx, i)
		if err != nil {
			return nil, err
		}
		for j := len(positions) - 1; j >= 0 && len(last) < n; j-- {
			if !v.left(positions[j].User) && positions[j].Compare(p) < 0 {
				last = append(last, positions[j])
			}
		}
	}
	backwards := func(p, q *scoreboard.Position) int { return q.Compare(p) }
	last = append(last, first(v.joined, n, func(q *scoreboard.Position) bool { return q.Compare(p) < 0 }, backwards)...)
	last = first(last, n, func(*scoreboard.Position) bool { return true }, backwards)
	slices.Reverse(last)
	return last, nil
}

// lastBlock is the last block that can have a standing ahead of p.
func (v *view) lastBlock(p *scoreboard.Position) int {
	return sort.Search(len(v.blocks), func(i int) bool { return v.blocks[i].first.compare(p) > 0 })
}

// page returns the standings behind a position, nil for the first ones, and the rank of the
// first in the order of the board.
func (v *view) page(
	ctx context.Context, after *scoreboard.Position, limit int,
) (page []scoreboard.Position, rank int64, err error) {
	from := &scoreboard.Position{Key: -scoreboard.MaxScore - 1}
	if after != nil {
		from = after
	}
	if page, err = v.following(ctx, from, limit+1); err != nil || len(page) == 0 {
		return nil, 0, err
	}
	if after != nil && page[0].Compare(after) == 0 {
		page = page[1:]
	}
	page = page[:min(limit, len(page))]
	if len(page) > 0 {
		rank, err = v.rank(ctx, &page[0])
	}
	return page, rank, err
}

// around returns up to k standings on each side of p, with p, and how many are ahead of it.
func (v *view) around(
	ctx context.Context, p *scoreboard.Position, k int,
) (around []scoreboard.Position, above int, err error) {
	around, err = v.preceding(ctx, p, k)
	if err != nil {
		return nil, 0, err
	}
	above = len(around)
	behind, err := v.following(ctx, p, k+1)
	return append(around, behind...), above, err
}

// position returns a user's standing; nil without one.
func (v *view) position(ctx context.Context, board *scoreboard.Board, user scoreboard.UserID) (
	*scoreboard.Position, error,
) {
	for i := range v.joined {
		if v.joined[i].User == user {
			return &v.joined[i], nil
		}
	}
	if v.left(user) {
		return nil, nil
	}
	p, err := v.recorded(ctx, board, user)
	if p != nil || err != nil {
		return p, err
	}
	found, err := v.find(ctx, []scoreboard.UserID{user})
	if p, ok := found[user]; ok {
		return &p, err
	}
	return nil, err
}

const sqlRecorded = `select n.number, h.new_score, h.new_subscore, coalesce(c.reached_at, h.recorded_at)
from checkpoint_users as n cross join lateral (
    select version, new_score, new_subscore, recorded_at from user_score_histories as h
    where h.user_id collate "POSIX" = n.user_id and h.board_id = $2
        and h.recorded_at <= (select at from checkpoints where checkpoint_id = $3)
        and ` + movedRow + `
    order by h.recorded_at desc, h.version desc limit 1) as h
left join lateral (select reached_at from corrected_standings as c
    where c.user_id = n.user_id and c.board_id = $2 and c.version >= h.version
        and c.at <= (select at from checkpoints where checkpoint_id = $3) order by c.version desc limit 1) as c on true
where n.user_id = $1`

// recorded returns the standing of a user in the checkpoint by the last row of the ledger before
// it, if that leads to the block that has the user; nil otherwise. It saves reading all blocks.
func (v *view) recorded(
	ctx context.Context, board *scoreboard.Board, user scoreboard.UserID,
) (*scoreboard.Position, error) {
	if len(v.blocks) == 0 {
		return nil, nil
	}
	var number, score int64
	var subscore *int64
	p := scoreboard.Position{User: user}
	err := v.tx.QueryRow(ctx, sqlRecorded, user, board.ID, v.checkpoint).Scan(&number, &score, &subscore,
		&p.ReachedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p = keysOn(board, pairOf(score, subscore)).position(p.ReachedAt.UTC(), user)
	for i := v.blockOf(&p); i < len(v.blocks) && v.blocks[i].first.compare(&p) <= 0; i++ {
		standings, err := v.standings(ctx, i)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(standings, func(s standing) bool { return s.number == number && s.compare(&p) == 0 }) {
			return &p, nil
		}
	}
	return nil, nil
}

// find returns the standings that users have in the checkpoint, by reading all of it: a
// million standings take a few ten milliseconds.
func (v *view) find(
	ctx context.Context, users []scoreboard.UserID,
) (found map[scoreboard.UserID]scoreboard.Position, err error) {
	if len(users) == 0 || len(v.blocks) == 0 {
		return nil, nil
	}
	names, err := v.numbers(ctx, users)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, `select users, standings from checkpoint_blocks
where checkpoint_id = $1 and block >= 0`, v.checkpoint)
	if err != nil {
		return nil, err
	}
	found = make(map[scoreboard.UserID]scoreboard.Position, len(names))
	var encoded pgtype.DriverBytes
	return found, pg.ForEach(rows, func() error {
		var n int
		if err := rows.Scan(&n, &encoded); err != nil {
			return err
		}
		standings, err := readStandings(encoded, n, v.board)
		for i := range standings {
			if user, ok := names[standings[i].number]; ok {
				found[user] = standings[i].position(user)
			}
		}
		return err
	})
}

// numbers returns users by their numbers in checkpoints.
func (v *view) numbers(
	ctx context.Context, users []scoreboard.UserID,
) (names map[int64]scoreboard.UserID, err error) {
	rows, err := v.tx.Query(ctx, `select number, user_id from checkpoint_users where user_id = any($1)`, users)
	if err != nil {
		return nil, err
	}
	names = make(map[int64]scoreboard.UserID, len(users))
	return names, pg.ForEach(rows, func() error {
		var number int64
		var user scoreboard.UserID
		err := rows.Scan(&number, &user)
		names[number] = user
		return err
	})
}
