package history

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// How much one transaction does: the relays publish nothing that commits after a running
// transaction began.
const (
	countSpan     = 10 * time.Minute // of the ledger, counted at a time
	nameRows      = 5000
	standingRows  = 10_000
	deletedAtOnce = 10 // checkpoints
	lockWait      = 100 * time.Millisecond
)

// changedForLong is when a board that changes rarely gets a checkpoint nevertheless.
const changedForLong = 24 * time.Hour

const (
	sqlCounted = `select counted from checkpoint_state`

	sqlCount = `with counts as (
    select board_id, count(*) as n from user_score_histories where recorded_at > $1 and recorded_at <= $2
    group by board_id
), mine as (
    update checkpoint_state set counted = $2 where counted = $1 returning counted
), older as (
    update checkpoint_boards set events = events + (select coalesce(sum(n), 0) from counts) from mine
)
insert into checkpoint_boards (board_id, since, events)
select board_id, $1, (select sum(n) from counts) from counts, mine
on conflict (board_id) do nothing`

	// A board without a checkpoint has changed ever since.
	sqlCountAll = `with mine as (
    update checkpoint_state set counted = $1 where counted is null returning counted
)
insert into checkpoint_boards (board_id, since, events)
select board_id, '-infinity', 1::bigint << 62 from boards, mine
where exists (select from scores where scores.board_id = boards.board_id)
on conflict (board_id) do nothing`
)

// Count counts what was recorded since the last call, and returns the boards of which a
// checkpoint is due: after a number of events on all boards, or a day, if they changed. A
// checkpoint must be at the returned time.
func (m *PastBoards) Count(ctx context.Context, events int64) (due []scoreboard.BoardID, at time.Time, err error) {
	for more := true; more; {
		if at, more, err = m.count(ctx); err != nil {
			return nil, at, pg.Translate(fmt.Errorf("count events for checkpoints: %w", err))
		}
	}
	rows, err := m.db.Query(ctx, `select board_id from checkpoint_boards
where events >= $1 or since < $2::timestamptz - $3::interval order by board_id`, events, at, changedForLong)
	if err == nil {
		due, err = pgx.CollectRows(rows, pgx.RowTo[scoreboard.BoardID])
	}
	if err != nil {
		return nil, at, pg.Translate(fmt.Errorf("list boards for checkpoints: %w", err))
	}
	return due, at, nil
}

func (m *PastBoards) count(ctx context.Context) (to time.Time, more bool, err error) {
	var families []string
	var counted *time.Time
	err = m.db.QueryRow(ctx, `select array_agg(distinct family_id::text) from boards`).Scan(&families)
	if err == nil {
		err = m.db.QueryRow(ctx, sqlCounted).Scan(&counted)
	}
	if err == nil {
		to, err = m.settled(ctx, m.db, append(families, pg.StatusLock))
	}
	if err != nil {
		return to, false, err
	}
	to = to.Add(-time.Microsecond) // the last moment that is settled
	if counted == nil {
		_, err = m.db.Exec(ctx, sqlCountAll, to)
		return to, false, err
	}
	if !to.After(*counted) {
		return *counted, false, nil
	}
	if limit := counted.Add(countSpan); to.After(limit) {
		to, more = limit, true
	}
	_, err = m.db.Exec(ctx, sqlCount, *counted, to)
	return to, more, err
}

// Summarize completes the index by which the ledger is read. It waits for no lock.
func (m *PastBoards) Summarize(ctx context.Context) error {
	err := m.db.TxWithLockTimeout(ctx, lockWait, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `select summarize_ledger()`)
		return err
	})
	if pg.Code(err) == pg.LockNotAvailable {
		return nil // a vacuum does the same
	}
	if err != nil {
		return pg.Translate(fmt.Errorf("summarise the ledger: %w", err))
	}
	return nil
}

// Make stores a checkpoint of a board, which is complete when it returns. It calls next before
// each transaction. An interrupted checkpoint is never read, and deleted by DeleteOld.
func (m *PastBoards) Make(
	ctx context.Context, board scoreboard.BoardID, at time.Time, next func(context.Context) error,
) (users int64, err error) {
	w := &writer{m: m, board: board, at: at, next: next}
	if w.of, err = pg.FindBoard(ctx, m.db, board); err == nil {
		err = w.name(ctx)
	}
	if err == nil {
		err = m.db.QueryRow(ctx, `insert into checkpoints (board_id, at) values ($1, $2) returning checkpoint_id`,
			board, at).Scan(&w.id)
	}
	if err == nil {
		err = pgx.BeginTxFunc(ctx, m.db, pg.Snapshot, func(tx pgx.Tx) error { return w.copy(ctx, tx) })
	}
	if err == nil {
		err = w.complete(ctx)
	}
	if err != nil {
		return 0, pg.Translate(fmt.Errorf("make a checkpoint of board %s: %w", board, err))
	}
	return w.users, nil
}

// writer writes one checkpoint.
type writer struct {
	m     *PastBoards
	id    int64
	board scoreboard.BoardID
	of    *scoreboard.Board
	at    time.Time
	next  func(context.Context) error
	block int
	users int64

	pending []standing // ranked, not yet written
	masked  []standing
}

// name numbers the users of the board that have no number yet.
func (w *writer) name(ctx context.Context) error {
	return pg.InChunks(ctx, w.m.db, "unnumbered", nameRows, pgx.RowTo[string], func(users []string) error {
		if err := w.next(ctx); err != nil {
			return err
		}
		return pgx.BeginFunc(ctx, w.m.db, func(tx pgx.Tx) error {
			// No erasure runs meanwhile, and the insert sees those before it.
			_, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended($1, 0))`, pg.StatusLock)
			if err == nil {
				_, err = tx.Exec(ctx, `insert into checkpoint_users (user_id)
select t.u from unnest($1::text[]) as t(u) cross join lateral (
    select from users where user_id = t.u and status <> 'erased' offset 0) as known
on conflict (user_id) do nothing`, users)
			}
			return err
		})
	}, `select s.user_id from scores as s where s.board_id = $1 and s.version > 0
    and not exists (select from checkpoint_users as c where c.user_id = s.user_id)`, w.board)
}

// movedRow is whether a row h of the ledger changed the standing.
const movedRow = `(h.applied <> 0 or h.previous_score is null or h.version = 1
        or h.new_subscore is distinct from h.previous_subscore)`

const (
	// Who changed after the moment, or whose status did.
	sqlLater = `select s.user_id, n.number, s.order_key, s.sub_key, s.reached_at, s.empty,
    case when changed.user_id is null then now.status else coalesce(before.status, 'active') end = 'banned'
        or exists (select from private_users where user_id = s.user_id and since <= $2
            and coalesce(until, 'infinity') > $2),
    first.version, first.previous_score, first.previous_subscore, moved.version, moved.recorded_at,
    corrected.version, corrected.reached_at
from scores as s
join users as now on now.user_id = s.user_id and now.status <> 'erased'
join checkpoint_users as n on n.user_id = s.user_id
left join lateral (select user_id from user_statuses where user_id = s.user_id and at > $2 limit 1) as changed on true
left join lateral (select status from user_statuses where user_id = s.user_id and at <= $2
    order by id desc limit 1) as before on true
left join lateral (select version, previous_score, previous_subscore from user_score_histories as h
    where h.user_id collate "POSIX" = s.user_id and h.board_id = $1 and h.recorded_at > $2
    order by h.recorded_at, h.version limit 1) as first on true
left join lateral (select version, recorded_at from user_score_histories as h
    where h.user_id collate "POSIX" = s.user_id and h.board_id = $1 and h.recorded_at <= $2
        and ` + movedRow + `
    order by h.recorded_at desc, h.version desc limit 1) as moved on true
left join lateral (select version, reached_at from corrected_standings as c
    where c.user_id = s.user_id and c.board_id = $1 and c.at <= $2 order by version desc limit 1) as corrected on true
where s.board_id = $1 and s.version > 0 and (s.recorded_at > $2
    or s.user_id in (select user_id from user_statuses where at > $2
        union select user_id from private_users where since > $2 or until > $2))`

	// All others, in order. Hidden is not empty: the row of a score that is empty stays.
	sqlEarlier = `select s.user_id, s.order_key, s.sub_key, s.reached_at, n.number, s.hidden
from scores as s join users as u on u.user_id = s.user_id and u.status <> 'erased'
join checkpoint_users as n on n.user_id = s.user_id
where s.board_id = $1 and s.version > 0 and not s.empty and s.recorded_at <= $2
    and s.user_id not in (select user_id from user_statuses where at > $2
        union select user_id from private_users where since > $2 or until > $2)
order by s.order_key, s.sub_key, s.reached_at, s.user_id`
)

// ranked is a standing with its user.
type ranked struct {
	scoreboard.Position
	number int64
}

// copy reads the standings in a snapshot and writes them in order. Scores are of later than
// the moment: what changed in between is taken back by the ledger.
func (w *writer) copy(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, `select set_config('cursor_tuple_fraction', '1', true),
    set_config('work_mem', '64MB', true), set_config('jit', 'off', true)`); err != nil {
		return err
	}
	later, err := w.later(ctx, tx)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `declare earlier no scroll cursor for `+sqlEarlier, w.board, w.at); err != nil {
		return err
	}
	for {
		rows, err := tx.Query(ctx, fmt.Sprintf("fetch %d from earlier", standingRows))
		if err != nil {
			return err
		}
		var r ranked
		var hidden bool
		tag, err := pgx.ForEachRow(rows, []any{
			&r.User, &r.Key, &r.SubKey, &r.ReachedAt, &r.number, &hidden,
		}, func() error {
			for len(later) > 0 && later[0].Compare(&r.Position) < 0 {
				w.pending, later = append(w.pending, later[0].standing()), later[1:]
			}
			w.add(&r, hidden)
			return nil
		})
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			break
		}
		if err := w.write(ctx, w.m.blockUsers); err != nil {
			return err
		}
	}
	for i := range later {
		w.pending = append(w.pending, later[i].standing())
	}
	if err := w.write(ctx, 1); err != nil {
		return err
	}
	return w.writeMasked(ctx)
}

func (r *ranked) standing() standing {
	return standing{keysOf(&r.Position), r.ReachedAt.UnixMicro(), r.number}
}

func (w *writer) add(r *ranked, hidden bool) {
	if hidden {
		w.masked = append(w.masked, r.standing())
	} else {
		w.pending = append(w.pending, r.standing())
	}
}

// later returns the ranked standings of those who changed after the moment, in order, and
// keeps the hidden ones.
func (w *writer) later(ctx context.Context, tx pgx.Tx) (later []ranked, err error) {
	rows, err := tx.Query(ctx, sqlLater, w.board, w.at)
	if err != nil {
		return nil, err
	}
	err = pg.ForEach(rows, func() error {
		var r ranked
		var empty, hidden bool
		var first, previous, previousSub, moved, corrected *int64
		var movedAt, correctedAt *time.Time
		if err := rows.Scan(&r.User, &r.number, &r.Key, &r.SubKey, &r.ReachedAt, &empty, &hidden, &first, &previous,
			&previousSub, &moved, &movedAt, &corrected, &correctedAt); err != nil {
			return err
		}
		exists := !empty
		if first != nil { // the score changed after the moment
			if exists = previous != nil && *first > 1; exists {
				r.Key, r.SubKey = w.of.Keys(pairOf(*previous, previousSub))
			}
			switch {
			case corrected != nil && (moved == nil || *corrected >= *moved):
				r.ReachedAt = *correctedAt
			case moved != nil:
				r.ReachedAt = *movedAt
			case exists:
				return scoreboard.Errorf(wire.CodeConflict,
					"earlier events of a user who has just scored are archived; the next attempt succeeds")
			}
		}
		if !exists {
			return nil
		}
		if hidden {
			w.masked = append(w.masked, r.standing())
		} else {
			later = append(later, r)
		}
		return nil
	})
	slices.SortFunc(later, func(p, q ranked) int { return p.Compare(&q.Position) })
	return later, err
}

// pairOf returns a score with its subscore, 0 for nil.
func pairOf(score int64, subscore *int64) scoreboard.Pair {
	p := scoreboard.Pair{Score: scoreboard.Score(score)}
	if subscore != nil {
		p.Subscore = scoreboard.Score(*subscore)
	}
	return p
}

const sqlBlocks = `insert into checkpoint_blocks (checkpoint_id, block, users, order_key, reached_at, standings,
    sub_key)
select $1, * from unnest($2::integer[], $3::integer[], $4::bigint[], $5::timestamptz[], $6::bytea[], $7::bigint[])`

// write writes what is pending, as long as it is at least minPending standings, in blocks.
func (w *writer) write(ctx context.Context, minPending int) error {
	var blocks, users []int
	var keys, subKeys []int64
	var reached []time.Time
	var encoded [][]byte
	for len(w.pending) >= minPending {
		n := min(w.m.blockUsers, len(w.pending))
		part := w.pending[:n]
		blocks, users, keys = append(blocks, w.block), append(users, n), append(keys, part[0].key)
		subKeys, reached = append(subKeys, part[0].subKey), append(reached, time.UnixMicro(part[0].reached))
		encoded = append(encoded, appendStandings(nil, part, w.of))
		w.pending = w.pending[n:]
		w.block++
		w.users += int64(n)
	}
	w.pending = append([]standing(nil), w.pending...)
	return w.insert(ctx, blocks, users, keys, subKeys, reached, encoded)
}

func (w *writer) writeMasked(ctx context.Context) error {
	if len(w.masked) == 0 {
		return nil
	}
	return w.insert(ctx, []int{maskedBlock}, []int{len(w.masked)}, []int64{0}, []int64{0},
		[]time.Time{w.at}, [][]byte{appendStandings(nil, w.masked, w.of)})
}

func (w *writer) insert(
	ctx context.Context, blocks, users []int, keys, subKeys []int64, reached []time.Time, encoded [][]byte,
) error {
	if len(blocks) == 0 {
		return nil
	}
	if err := w.next(ctx); err != nil {
		return err
	}
	_, err := w.m.db.Exec(ctx, sqlBlocks, w.id, blocks, users, keys, reached, encoded, subKeys)
	return err
}

// complete makes the checkpoint readable, unless it was deleted meanwhile.
func (w *writer) complete(ctx context.Context) error {
	if err := w.next(ctx); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, w.m.db, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `update checkpoints set complete = true, users = $2
where checkpoint_id = $1 and not complete`, w.id, w.users)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return scoreboard.Errorf(wire.CodeConflict, "another process deleted the checkpoint")
		}
		// What was counted later is after the checkpoint.
		for _, sql := range []string{
			`delete from checkpoint_boards where board_id = $1
    and exists (select from checkpoint_state where counted <= $2 for update)`,
			`update checkpoint_boards set since = $2, events = 0 where board_id = $1`,
		} {
			if _, err := tx.Exec(ctx, sql, w.board, w.at); err != nil {
				return err
			}
		}
		return nil
	})
}

const sqlDeleteOld = `delete from checkpoints where checkpoint_id in (
    select checkpoint_id from checkpoints as c where case when kept_until is not null then kept_until < now()
        else not complete or at < now() - $1::interval and exists (
            select from checkpoints as newer where newer.board_id = c.board_id and newer.complete
                and newer.kept_until is null and newer.at > c.at and newer.at <= now() - $1::interval) end
    order by checkpoint_id limit $2)`

// DeleteOld deletes some checkpoints that were interrupted, some that were kept long enough, and
// some by which no moment of the last keep is read. It returns how many; the caller must be the
// only one that makes some.
func (m *PastBoards) DeleteOld(ctx context.Context, keep time.Duration) (deleted int64, err error) {
	tag, err := m.db.Exec(ctx, sqlDeleteOld, keep, deletedAtOnce)
	if err != nil {
		return 0, pg.Translate(fmt.Errorf("delete old checkpoints: %w", err))
	}
	return tag.RowsAffected(), nil
}
