package boards

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

const (
	// Only the periods of boards that have had a table are looked at, and of those the last ones. One that
	// ended between the first row of reward_boards and its table, a moment, has none. In a league, players may
	// still wait for their divisions of the period.
	sqlDueRewards = `select b.board_id, extract(epoch from clock_timestamp() - b.period_end)::float8
from reward_boards as f join boards as b on b.family_id = f.board_id
where b.period_end > f.granted_until and b.period_end <= clock_timestamp() and b.standings_hash is not null
    and (b.league is null or league_ready(b.board_id))
    and exists (select from reward_tables as t where t.board_id = f.board_id and t.since <= b.period_end)
    and not exists (select from reward_runs as r where r.board_id = b.board_id and r.ended_at is not null)
order by b.period_end, b.board_id limit $1`

	// The table that was in force at the end of the period. A run that has begun keeps it.
	sqlBeginRun = `insert into reward_runs (board_id, table_id, revision)
select $1::text, table_id, $4::integer from reward_tables where board_id = $2 and since <= $3
order by since desc limit 1 on conflict (board_id) do nothing`

	sqlRunTable = sqlTable + ` where table_id = (select table_id from reward_runs where board_id = $1)`

	// Ranks are those in the order of the board, but for the ones that grants say.
	sqlRank = `select order_key, sub_key from board_standings where board_id = $1 and rank = $2`

	sqlLockRun = `select next_rank, revision from reward_runs where board_id = $1 and ended_at is null for update`

	// The band of a row s of the final standings: of segments w(first, last, n) those in $8, of $11 divisions each,
	// are numbered from 1, and 0 is none. Where $11 is 1, no place in a cohort is looked up.
	sqlBandOfRow = `cross join lateral (select ($8::integer[])[(w.n - 1) * $11::integer + 1
    + case when $11::integer > 1 then ` + sqlDivision + ` else 0 end] as band offset 0) as g`

	// The division in which the user of a row s played in the period; 0 for none.
	sqlDivision = `coalesce((select c.division from league_members as m join league_cohorts as c using (cohort_id)
        where m.user_id = s.user_id and m.board_id = s.board_id), 0)`

	// Statuses are locked: nobody is erased or banned between the look at the row and the commit.
	sqlGrant = `insert into reward_grants (board_id, user_id, rank, table_id, band, revision, granted_at, expires_at)
select s.board_id, s.user_id, coalesce(s.shared_rank, s.rank), $4::bigint, g.band, $9::integer, t.at,
    t.at + make_interval(secs => $5)
from board_standings as s join unnest($6::bigint[], $7::bigint[]) with ordinality as w(first, last, n)
    on s.rank between w.first and w.last ` + sqlBandOfRow + `
cross join (select clock_timestamp() as at) as t join users as u on u.user_id = s.user_id
where s.board_id = $1 and s.rank between $2 and $3 and u.status not in ('banned', 'erased') and (not u.private or $10)
    and g.band > 0
on conflict (board_id, user_id) do nothing returning grant_id`

	// Users who have left all boards, and so have no place in the standings, with the rank that they would
	// have.
	sqlPrivate = `select c.user_id, case when $5 then rank_in_standings($1, $2, order_key, sub_key, 'epoch', '')
    else rank_in_standings($1, $2, order_key, sub_key, reached_at, c.user_id) end, score, division
from (select s.user_id, case when $6 then ` + sqlDivision + ` else 0 end as division, s.score,
    s.order_key, s.sub_key, s.reached_at from private_users as p
    join users as u on u.user_id = p.user_id join scores as s on s.user_id = p.user_id and s.board_id = $1
    where p.until is null and p.user_id > $3 and u.private and u.status not in ('banned', 'erased')
        and s.version > 0 and not s.empty
    order by p.user_id limit $4) as c order by c.user_id`

	sqlGrantPrivate = `insert into reward_grants (board_id, user_id, rank, table_id, band, revision,
    granted_at, expires_at)
select $1::text, w.user_id, w.rank, $2::bigint, w.band, $3::integer, t.at, t.at + make_interval(secs => $4)
from unnest($5::text[], $6::bigint[], $7::integer[]) as w(user_id, rank, band)
cross join (select clock_timestamp() as at) as t
on conflict (board_id, user_id) do nothing returning grant_id`

	// A void that began before the grants were made found none of them: it takes back those of users of whom it
	// reverses events that still count in the final standings.
	sqlTakeBackNew = `with added as (
    insert into void_rewards (void_id, grant_id)
    select distinct v.id, g.grant_id from voids as v join void_events as e on e.void_id = v.id
    join reward_grants as g on g.user_id = e.user_id and g.grant_id = any($2)
    where v.state in ('listing', 'reversing', 'done') and v.ends > $3
        and exists (select from user_score_histories as h where h.user_id = e.user_id and h.event_id = e.event_id
            and h.source <> 'admin' and h.board_id = $1)
        and not exists (select from reversals as r join user_score_histories as h
                on h.user_id = r.user_id and h.event_id = r.reversal_id and h.source = 'admin' and h.board_id = $1
            where r.user_id = e.user_id and r.event_id = e.event_id and not r.internal)
    on conflict do nothing returning grant_id
)
update reward_grants as g set voids = voids + a.n
from (select grant_id, count(*) as n from added group by grant_id) as a
where g.grant_id = a.grant_id`

	sqlContinueRun = `update reward_runs set next_rank = $2, granted = granted + $3 where board_id = $1`

	sqlEndRun = `update reward_runs set ended_at = clock_timestamp() where board_id = $1`

	// Not beyond a period that is not done.
	sqlGrantedUntil = `update reward_boards as f set granted_until = $2
where board_id = $1 and granted_until < $2 and not exists (select from boards as b
    where b.family_id = f.board_id and b.period_end > f.granted_until and b.period_end < $2
        and exists (select from reward_tables as t where t.board_id = f.board_id and t.since <= b.period_end)
        and not exists (select from reward_runs as r where r.board_id = b.board_id and r.ended_at is not null))`
)

// DueRewards lists periods that have ended with final standings, and whose rewards are not all
// granted, the earliest end first.
func (s *Rewards) DueRewards(ctx context.Context) ([]scoreboard.DuePeriod, error) {
	return duePeriods(ctx, s.db, "find periods with rewards", sqlDueRewards)
}

// rewardRun is what the grants of a period are made from. It is the same whenever it is read.
type rewardRun struct {
	board    *scoreboard.Board
	total    int64 // users in the final standings
	table    *scoreboard.RewardTable
	segments []scoreboard.RewardSegment

	// As the transaction of a step has read them, and where the private users of the last one ended.
	next      int64
	revision  int
	afterUser scoreboard.UserID
}

// GrantRewards grants the rewards of a period whose standings are final, those of size ranks in each
// transaction, before which it calls next, and returns how many it granted. It continues an
// interrupted call, and several may run at once: each winner gets one grant.
func (s *Rewards) GrantRewards(
	ctx context.Context, id scoreboard.BoardID, size int, next func(context.Context) error,
) (granted int64, err error) {
	run, err := s.beginRun(ctx, id)
	steps := []rewardStep{grantRanks}
	if err == nil && run.table.Private {
		steps = append(steps, grantPrivate)
	}
	for _, step := range append(steps, endRun) {
		for more := true; err == nil && more; {
			if err = next(ctx); err == nil {
				var n int64
				n, more, err = s.inRun(ctx, run, step, int64(size))
				granted += n
			}
		}
	}
	if err != nil {
		return granted, pg.Translate(fmt.Errorf("grant the rewards of board %s: %w", id, err))
	}
	return granted, nil
}

// rewardStep grants to at most size users, and reports whether there may be more for it.
type rewardStep func(
	ctx context.Context, tx pgx.Tx, run *rewardRun, size int64,
) (granted int64, more bool, err error)

// inRun runs a step in a transaction that no change of a user's status overlaps, nor another step of the
// run; there is nothing to do for one that another process has ended.
func (s *Rewards) inRun(
	ctx context.Context, run *rewardRun, step rewardStep, size int64,
) (granted int64, more bool, err error) {
	after := run.afterUser
	err = s.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		granted, more, run.afterUser = 0, false, after
		_, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended($1, 0))`, pg.StatusLock)
		if err != nil {
			return err
		}
		err = tx.QueryRow(ctx, sqlLockRun, run.board.ID).Scan(&run.next, &run.revision)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err == nil {
			granted, more, err = step(ctx, tx, run, size)
		}
		return err
	})
	return granted, more, err
}

// beginRun returns the run of a period, and stores it if it is new.
func (s *Rewards) beginRun(ctx context.Context, id scoreboard.BoardID) (*rewardRun, error) {
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		board, err := pg.FindBoard(ctx, tx, id)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlLockRewards, board.Family); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, sqlBeginRun, id, board.Family, board.PeriodEnd, scoreboard.FirstRewardsRevision)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.loadRun(ctx, id)
}

// loadRun returns the run of a period that has begun.
func (s *Rewards) loadRun(ctx context.Context, id scoreboard.BoardID) (*rewardRun, error) {
	run := &rewardRun{}
	err := pgx.BeginTxFunc(ctx, s.db, pg.Snapshot, func(tx pgx.Tx) error {
		board, err := pg.ScanBoard(tx.QueryRow(ctx, `select standings_users, `+pg.BoardColumns+` from boards
where board_id = $1 and standings_hash is not null`, id), &run.total)
		if err != nil {
			return err
		}
		run.board = &board
		run.table, err = findTable(ctx, tx, sqlRunTable, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	ranges, err := run.board.Tiers.Ranges(run.total, func(worst scoreboard.Score) (int64, error) {
		return s.lastRank(ctx, id, run.total, run.board.Order.Key(worst), math.MaxInt64)
	})
	if err != nil {
		return nil, err
	}
	run.segments = run.table.Segments(run.total, run.board.Tiers, ranges)
	if run.board.SharesRanks() {
		run.segments, err = s.inOrder(ctx, id, run)
	}
	return run, err
}

// inOrder returns the segments of shared ranks as ranks in the order of the board: all who share a
// rank of a segment are in it, also those who are behind its last rank in that order.
func (s *Rewards) inOrder(
	ctx context.Context, id scoreboard.BoardID, run *rewardRun,
) (segments []scoreboard.RewardSegment, err error) {
	// end returns the last one who shares a rank of at most rank.
	end := func(rank int64) (int64, error) {
		if rank == 0 {
			return 0, nil
		}
		var key, subKey int64
		if err := s.db.QueryRow(ctx, sqlRank, id, rank).Scan(&key, &subKey); err != nil {
			return 0, err
		}
		return s.lastRank(ctx, id, run.total, key, subKey)
	}
	for _, g := range run.segments {
		before, err := end(g.First - 1)
		if err != nil {
			return nil, err
		}
		if g.Last, err = end(g.Last); err != nil {
			return nil, err
		}
		if g.First = before + 1; g.First <= g.Last {
			segments = append(segments, g)
		}
	}
	return segments, nil
}

// lastRank returns the last rank with keys of at most key and subKey, by bisection: standings are in the order
// of keys.
func (s *Rewards) lastRank(ctx context.Context, id scoreboard.BoardID, total, key, subKey int64) (int64, error) {
	low, high := int64(0), total // low is within, high + 1 is not
	for low < high {
		middle := low + (high-low+1)/2
		var at, subAt int64
		if err := s.db.QueryRow(ctx, sqlRank, id, middle).Scan(&at, &subAt); err != nil {
			return 0, err
		}
		if at < key || at == key && subAt <= subKey {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low, nil
}

// grantRanks grants to the next ranks.
func grantRanks(
	ctx context.Context, tx pgx.Tx, run *rewardRun, size int64,
) (granted int64, more bool, err error) {
	chunk := run.from(run.next, size)
	if len(chunk) == 0 {
		return 0, false, nil
	}
	first, last := chunk[0].First, chunk[len(chunk)-1].Last
	firsts, lasts, bands := columnsOf(chunk)
	granted, err = run.grant(ctx, tx, last+1, sqlGrant, run.board.ID, first, last, run.table.ID,
		run.table.Expires.Seconds(), firsts, lasts, bands, run.revision, run.table.Private, divisionsOf(chunk))
	return granted, true, err
}

// columnsOf returns segments as columns; bands, of all divisions of a segment one after the other, are
// numbered from 1.
func columnsOf(chunk []scoreboard.RewardSegment) (firsts, lasts []int64, bands []int) {
	for _, g := range chunk {
		firsts, lasts = append(firsts, g.First), append(lasts, g.Last)
		for _, band := range g.Bands {
			bands = append(bands, band+1)
		}
	}
	return firsts, lasts, bands
}

// divisionsOf is how many bands each segment has.
func divisionsOf(chunk []scoreboard.RewardSegment) int { return len(chunk[0].Bands) }

// grantPrivate grants to users who have left all boards, by name. Where it ended is not stored: another
// process begins again, and finds the grants.
func grantPrivate(
	ctx context.Context, tx pgx.Tx, run *rewardRun, size int64,
) (granted int64, more bool, err error) {
	rows, err := tx.Query(ctx, sqlPrivate, run.board.ID, run.total, run.afterUser, size, run.board.SharesRanks(),
		run.table.HasDivisions())
	if err != nil {
		return 0, false, err
	}
	var users []scoreboard.UserID
	var ranks []int64
	var bands []int
	var user scoreboard.UserID
	var rank, read int64
	var score scoreboard.Score
	var division int
	_, err = pgx.ForEachRow(rows, []any{&user, &rank, &score, &division}, func() error {
		read++
		run.afterUser = user
		if band := run.bandOf(rank, score, division); band > 0 {
			users, ranks, bands = append(users, user), append(ranks, rank), append(bands, int(band))
		}
		return nil
	})
	if err != nil || len(users) == 0 {
		return 0, read == size, err
	}
	granted, err = run.grant(ctx, tx, run.next, sqlGrantPrivate, run.board.ID, run.table.ID, run.revision,
		run.table.Expires.Seconds(), users, ranks, bands)
	return granted, read == size, err
}

// grant makes grants by a statement that returns their ids, and stores how many and which rank is next.
func (r *rewardRun) grant(ctx context.Context, tx pgx.Tx, next int64, sql string, args ...any) (int64, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return 0, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, err
	}
	if len(ids) > 0 {
		if _, err := tx.Exec(ctx, sqlTakeBackNew, r.board.ID, ids, r.board.PeriodStart); err != nil {
			return 0, err
		}
	}
	_, err = tx.Exec(ctx, sqlContinueRun, r.board.ID, next, len(ids))
	return int64(len(ids)), err
}

// from returns the segments of a chunk: at most size ranks from a rank on, or from the next one that
// gets anything.
func (r *rewardRun) from(rank, size int64) (chunk []scoreboard.RewardSegment) {
	var end int64
	for _, g := range r.segments {
		if g.Last < rank {
			continue
		}
		g.First = max(g.First, rank)
		if chunk == nil {
			end = g.First + size - 1
		}
		if g.First > end {
			break
		}
		g.Last = min(g.Last, end)
		chunk = append(chunk, g)
	}
	return chunk
}

// endRun ends a run, all whose grants are made.
func endRun(ctx context.Context, tx pgx.Tx, run *rewardRun, _ int64) (granted int64, more bool, err error) {
	if _, err := tx.Exec(ctx, sqlEndRun, run.board.ID); err != nil {
		return 0, false, err
	}
	_, err = tx.Exec(ctx, sqlGrantedUntil, run.board.Family, run.board.PeriodEnd)
	return 0, false, err
}
