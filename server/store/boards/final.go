package boards

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

const (
	// sqlRanking reads the ranking of a board behind a position. It is sorted once for the
	// whole copy: no index of scores has their order, and standings may be behind.
	sqlRanking = `select user_id, score, order_key, reached_at, subscore, sub_key from scores
where board_id = $1 and not hidden and (order_key, sub_key, reached_at, user_id) > ($2, $3, $4, $5)
order by order_key, sub_key, reached_at, user_id`

	// The column rank is that in the order of the board.
	sqlLastStanding = `select rank, order_key, sub_key, reached_at, user_id, coalesce(shared_rank, rank)
from board_standings where board_id = $1 order by rank desc limit 1`

	sqlCopyStandings = `insert into board_standings (board_id, rank, user_id, score, order_key, reached_at, salt, leaf,
    shared_rank, subscore, sub_key)
select $1, rank, user_id, score, order_key, reached_at, decode(salt, 'hex'), decode(leaf, 'hex'),
    nullif(shared_rank, 0), subscore, sub_key
from unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::timestamptz[], $7::text[], $8::text[],
    $9::bigint[], $10::bigint[], $11::bigint[])
    as t(rank, user_id, score, order_key, reached_at, salt, leaf, shared_rank, subscore, sub_key)`
)

// beforeStandings is a position before every standing.
var beforeStandings = scoreboard.FinalStanding{Key: -1 << 63, ReachedAt: time.Date(-4000, 1, 1, 0, 0, 0, 0, time.UTC)}

// CopyStandings copies the final standings of a closed board, size of them in one
// transaction, and returns how many it copied. It calls next before each of these. It
// continues an interrupted copy, and returns a conflict if another process is copying.
//
// Nothing scores on a closed board, but users may be banned, unbanned or erased during the
// copy. SealStandings finds that.
func (s *Boards) CopyStandings(
	ctx context.Context, id scoreboard.BoardID, size int, next func(context.Context) error,
) (copied int, err error) {
	last, board := beforeStandings, scoreboard.Board{ID: id}
	inTx := func(do func(pgx.Tx) error) error {
		if err := next(ctx); err != nil {
			return err
		}
		return pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
			if err := lockStandings(ctx, tx, id); err != nil {
				return err
			}
			return do(tx)
		})
	}
	err = inTx(func(tx pgx.Tx) error {
		var closed bool
		if err := tx.QueryRow(ctx, `select closed_at is not null and standings_hash is null, coalesce(ties, ''),
    coalesce(subscore, '') from boards where board_id = $1`, id).
			Scan(&closed, &board.Ties, &board.Subscore); err != nil {
			return err
		}
		if !closed {
			return scoreboard.Errorf(wire.CodeConflict, "board %s is not closed, or its standings are sealed", id)
		}
		err := scanLast(tx.QueryRow(ctx, sqlLastStanding, id), &last)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	if err == nil {
		scan := func(row pgx.CollectableRow) (f scoreboard.FinalStanding, err error) {
			err = row.Scan(&f.User, &f.Score, &f.Key, &f.ReachedAt, &f.Subscore, &f.SubKey)
			return f, err
		}
		err = pg.InChunks(ctx, s.db, "final_standings", size, scan, func(chunk []scoreboard.FinalStanding) error {
			err := inTx(func(tx pgx.Tx) error { return copyChunk(ctx, tx, &board, &last, chunk) })
			if err == nil {
				last = chunk[len(chunk)-1]
				copied += len(chunk)
			}
			return err
		}, sqlRanking, id, last.Key, last.SubKey, last.ReachedAt, last.User)
	}
	if err != nil {
		return copied, pg.Translate(fmt.Errorf("copy the standings of board %s: %w", id, err))
	}
	return copied, nil
}

func scanLast(row pgx.Row, to *scoreboard.FinalStanding) error {
	return row.Scan(&to.Ordinal, &to.Key, &to.SubKey, &to.ReachedAt, &to.User, &to.Rank)
}

// copyChunk writes the standings after one, which must be the last that is there.
func copyChunk(
	ctx context.Context, tx pgx.Tx, board *scoreboard.Board, after *scoreboard.FinalStanding,
	chunk []scoreboard.FinalStanding,
) error {
	id := board.ID
	var last scoreboard.FinalStanding
	err := scanLast(tx.QueryRow(ctx, sqlLastStanding, id), &last)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if last.Ordinal != after.Ordinal {
		return scoreboard.Errorf(wire.CodeConflict, "another process has copied standings of board %s", id)
	}
	users, scores := make([]string, len(chunk)), make([]int64, len(chunk))
	keys, reached := make([]int64, len(chunk)), make([]time.Time, len(chunk))
	ranks, salts, leaves := make([]int64, len(chunk)), make([]string, len(chunk)), make([]string, len(chunk))
	shared := make([]int64, len(chunk)) // 0: ranks are unique
	subscores, subKeys := make([]int64, len(chunk)), make([]int64, len(chunk))
	last = *after
	for i := range chunk {
		f := &chunk[i]
		rankAfter(board, &last, f)
		f.Salt = scoreboard.NewSalt()
		users[i], scores[i], keys[i], reached[i] = string(f.User), int64(f.Score), f.Key, f.ReachedAt
		ranks[i], salts[i], leaves[i] = f.Ordinal, f.Salt, f.HashLeaf(board)
		subscores[i], subKeys[i] = int64(f.Subscore), f.SubKey
		if board.SharesRanks() {
			shared[i] = f.Rank
		}
		last = *f
	}
	_, err = tx.Exec(ctx, sqlCopyStandings, id, ranks, users, scores, keys, reached, salts, leaves, shared,
		subscores, subKeys)
	return err
}

// rankAfter sets the rank of a standing by the one before it; the first has one with the ordinal 0.
func rankAfter(board *scoreboard.Board, before, f *scoreboard.FinalStanding) {
	f.Ordinal = before.Ordinal + 1
	f.Rank = f.Ordinal
	if board.SharesRanks() && before.Ordinal > 0 && before.Key == f.Key && before.SubKey == f.SubKey {
		f.Rank = before.Rank
	}
}

// lockStandings has no other process copy or seal the standings of a board until the
// transaction ends, or returns a conflict.
func lockStandings(ctx context.Context, tx pgx.Tx, id scoreboard.BoardID) error {
	var mine bool
	err := tx.QueryRow(ctx, `select pg_try_advisory_xact_lock(hashtextextended('standings of ' || $1, 0)),
set_config('enable_seqscan', 'off', true)`, string(id)).Scan(&mine, nil)
	if err == nil && !mine {
		return scoreboard.Errorf(wire.CodeConflict, "another process is copying the standings of board %s", id)
	}
	return err
}

// SealStandings hashes the copied final standings of a closed board and stores the
// hash with the board, if they are the ranking at this moment. sealed is false if they
// are not, because users were banned, unbanned or erased during the copy: then the
// standings from the first difference on are deleted, and the copy must be continued.
// It returns a conflict if another process is copying.
func (s *Boards) SealStandings(ctx context.Context, id scoreboard.BoardID) (sealed bool, err error) {
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if err := lockStandings(ctx, tx, id); err != nil {
			return err
		}
		board := scoreboard.Board{ID: id}
		if err := tx.QueryRow(ctx, `select standings_hash is not null, coalesce(ties, ''), coalesce(subscore, '')
from boards where board_id = $1`, id).Scan(&sealed, &board.Ties, &board.Subscore); err != nil || sealed {
			return err
		}
		sum, users, wrong, err := hashStandings(ctx, tx, &board)
		if err != nil {
			return err
		}
		if wrong != 0 {
			_, err = tx.Exec(ctx, `delete from board_standings where board_id = $1 and rank >= $2`, id, wrong)
			return err
		}
		sealed = true
		if err := waitForStatuses(ctx, tx); err != nil {
			return err
		}
		_, err = tx.Exec(
			ctx,
			`update boards set standings_hash = $2, standings_users = $3, standings_version = $4 where board_id = $1`,
			id,
			sum.Sum(nil),
			users,
			board.SealVersion(),
		)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, sqlNameErased, id, erasedSince)
		return err
	})
	if err != nil {
		return false, pg.Translate(fmt.Errorf("seal the standings of board %s: %w", id, err))
	}
	return sealed, nil
}

// waitForStatuses waits for the changes of users' statuses that run. Later ones wait for the end of the transaction.
func waitForStatuses(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended($1, 0))`, pg.StatusLock)
	return err
}

// erasedSince is how long before the end of a board an erasure may have begun that is committed after it: much longer
// than any transaction.
const erasedSince = time.Hour

// sqlNameErased gives users who are erased at this moment their anonymous names, as an erasure after the seal does: one
// that ran may have looked for rows before they were copied, and be committed after they were compared.
const sqlNameErased = `update board_standings as s set user_id = u.erased_as from users as u, boards as b
where b.board_id = $1 and u.erased_as is not null and u.erased_at >= b.closed_at - $2::interval
    and s.board_id = $1 and s.user_id = u.user_id`

// sqlCompareStandings reads the ranking and the copied standings side by side, from
// one snapshot.
const sqlCompareStandings = `select rank, coalesce(r.user_id, ''), coalesce(r.score, 0), coalesce(r.order_key, 0),
    coalesce(r.reached_at, 'epoch'), coalesce(encode(c.salt, 'hex'), ''), coalesce(encode(c.leaf, 'hex'), ''),
    (r.user_id, r.score, r.order_key, r.reached_at, r.subscore, r.sub_key)
        is not distinct from (c.user_id, c.score, c.order_key, c.reached_at, c.subscore, c.sub_key),
    coalesce(c.shared_rank, 0), coalesce(r.subscore, 0), coalesce(r.sub_key, 0)
from (select row_number() over (order by order_key, sub_key, reached_at, user_id) as rank, user_id, score, order_key,
        reached_at, subscore, sub_key
    from scores where board_id = $1 and not hidden) as r
full join (select rank, user_id, score, order_key, reached_at, salt, leaf, shared_rank, subscore, sub_key
    from board_standings
    where board_id = $1) as c using (rank)
order by rank`

// errWrongStanding ends the comparison at the first difference.
var errWrongStanding = errors.New("a copied standing differs from the scores")

// hashStandings returns the hash of a board's copied standings and their number, or
// in wrong the first rank at which they differ from the ranking.
func hashStandings(
	ctx context.Context, tx pgx.Tx, board *scoreboard.Board,
) (sum hash.Hash, users, wrong int64, err error) {
	sum = sha256.New()
	rows, err := tx.Query(ctx, sqlCompareStandings, board.ID)
	if err != nil {
		return nil, 0, 0, err
	}
	var f, before scoreboard.FinalStanding
	var same bool
	var ordinal, shared int64
	_, err = pgx.ForEachRow(rows, []any{
		&ordinal, &f.User, &f.Score, &f.Key, &f.ReachedAt, &f.Salt, &f.Leaf, &same, &shared, &f.Subscore,
		&f.SubKey,
	}, func() error {
		rankAfter(board, &before, &f)
		if board.SharesRanks() {
			same = same && shared == f.Rank
		}
		if !same || f.Ordinal != ordinal || f.Leaf != f.HashLeaf(board) {
			f.Ordinal = ordinal
			return errWrongStanding
		}
		before = f
		_, _ = sum.Write([]byte(f.Leaf + "\n")) // a hash never fails
		users++
		return nil
	})
	if errors.Is(err, errWrongStanding) {
		return nil, 0, f.Ordinal, nil
	}
	return sum, users, 0, err
}

func scanFinal(row pgx.CollectableRow) (f scoreboard.FinalStanding, err error) {
	err = row.Scan(&f.Ordinal, &f.Rank, &f.User, &f.Score, &f.Key, &f.ReachedAt, &f.Salt, &f.Leaf, &f.Subscore,
		&f.SubKey)
	f.ReachedAt = f.ReachedAt.UTC()
	return f, err
}

// FinalStandings returns the standings after an ordinal, without users who are banned or
// private now, and how the board ended; a not_found if its standings are not final.
func (s *Boards) FinalStandings(
	ctx context.Context,
	id scoreboard.BoardID,
	after int64,
	limit int,
) (e scoreboard.EndedPeriod, final []scoreboard.FinalStanding, err error) {
	e.Board, err = pg.ScanBoard(s.db.QueryRow(ctx, `select coalesce(standings_users, 0), `+pg.BoardColumns+
		` from boards where board_id = $1 and standings_hash is not null`, id), &e.Users)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, nil, scoreboard.Errorf(wire.CodeNotFound, "board %s has no final standings", id)
	}
	var rows pgx.Rows
	if err == nil {
		rows, err = s.db.Query(ctx, `select rank, coalesce(shared_rank, rank), b.user_id, score, order_key, reached_at,
    coalesce(encode(salt, 'hex'), ''), coalesce(encode(leaf, 'hex'), ''), subscore, sub_key
from board_standings as b
where board_id = $1 and rank > $2 and not exists (select from users as u where u.user_id = b.user_id
    and (u.status = 'banned' or u.private))
order by rank limit $3`, id, after, limit)
	}
	if err == nil {
		final, err = pgx.CollectRows(rows, scanFinal)
	}
	if err != nil {
		return e, nil, pg.Translate(fmt.Errorf("read the final standings of board %s: %w", id, err))
	}
	return e, final, nil
}
