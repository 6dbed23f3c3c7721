package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// sampledRanks is how many ranks of a board a sample has.
const sampledRanks = 1000

// changed is whether a board b has changed since its last sample s: then it has a checkpoint from
// after it, or is to get one. A time before which that may have been is no matter.
const changed = `(exists (select from checkpoint_boards as c where c.board_id = b.board_id)
    or exists (select from checkpoints as c where c.board_id = b.board_id and c.complete
        and c.at > coalesce(s.sampled_at, '-infinity')))`

// A board that has not changed has the same ranks, and they count on each new day.
const sqlUnsampled = `select b.board_id from boards as b left join rank_samples as s using (board_id)
where b.created_at <= $1 and (b.closed_at is null or b.closed_at > $1)
    and (b.period_start is null or b.period_start <= $1 and b.period_end > $1)
    and (s.hour is null or s.hour < $1)
    and (` + changed + ` or (s.sampled_at at time zone 'UTC')::date < ($1::timestamptz at time zone 'UTC')::date
        and (s.hour at time zone 'UTC')::date < ($1::timestamptz at time zone 'UTC')::date)
order by b.board_id`

// Unsampled returns the boards of which a sample is due at an hour. Count must have returned a
// time at or after it.
func (m *PastBoards) Unsampled(ctx context.Context, hour time.Time) (due []scoreboard.BoardID, err error) {
	rows, err := m.db.Query(ctx, sqlUnsampled, hour)
	if err == nil {
		due, err = pgx.CollectRows(rows, pgx.RowTo[scoreboard.BoardID])
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list boards for samples: %w", err))
	}
	return due, nil
}

// Sample adds the first ranks of a board at an hour to the all-time ranks of their users, once. If they
// cannot be read, the board has no sample at this hour.
func (m *PastBoards) Sample(ctx context.Context, id scoreboard.BoardID, hour time.Time) error {
	err := m.sample(ctx, id, hour)
	if err != nil && ctx.Err() == nil {
		err = errors.Join(err, m.mark(ctx, id, hour, func(pgx.Tx, *time.Time) (bool, error) { return false, nil }))
	}
	if err != nil {
		return pg.Translate(fmt.Errorf("sample the ranks of board %s: %w", id, err))
	}
	return nil
}

func (m *PastBoards) sample(ctx context.Context, id scoreboard.BoardID, hour time.Time) error {
	board, err := pg.FindBoard(ctx, m.db, id)
	if err != nil {
		return err
	}
	var read bool
	err = m.db.QueryRow(ctx, `select `+changed+` from boards as b left join rank_samples as s using (board_id)
where b.board_id = $1`, id).Scan(&read)
	if err != nil {
		return err
	}
	if !read {
		return m.repeatRanks(ctx, id, hour)
	}
	var users []scoreboard.UserID
	var ranks []int64
	// Who is hidden then or now has no rank.
	err = m.snapshot(ctx, board, hour, func(ctx context.Context, tx pgx.Tx) error {
		v, err := m.load(ctx, tx, board, scoreboard.PastTime{At: hour, Masked: true})
		if err != nil {
			return err
		}
		page, first, err := v.page(ctx, nil, sampledRanks)
		if err != nil {
			return err
		}
		rows, err := v.entries(ctx, page, first)
		for i := range rows {
			users, ranks = append(users, rows[i].User), append(ranks, rows[i].Rank)
		}
		return err
	})
	if err != nil {
		return err
	}
	return m.addRanks(ctx, id, hour, users, ranks)
}

// addRanks adds a sample: users and their ranks.
func (m *PastBoards) addRanks(
	ctx context.Context, board scoreboard.BoardID, hour time.Time, users []scoreboard.UserID, ranks []int64,
) error {
	return m.mark(ctx, board, hour, func(tx pgx.Tx, last *time.Time) (bool, error) {
		_, err := tx.Exec(ctx, sqlAddRanks, board, hour, last, users, ranks)
		return true, err
	})
}

// repeatRanks counts the day for the ranks of the last sample.
func (m *PastBoards) repeatRanks(ctx context.Context, board scoreboard.BoardID, hour time.Time) error {
	return m.mark(ctx, board, hour, func(tx pgx.Tx, last *time.Time) (bool, error) {
		_, err := tx.Exec(ctx, sqlSameRanks, board, hour, last)
		return false, err
	})
}

const (
	// climbed is whether a user climbed since the sample before by more than ever. Both have the user.
	climbed = `m.last_at = $3 and m.last_rank - excluded.last_rank > coalesce(m.climb_from - m.climb_to, 0)`

	sqlAddRanks = `insert into rank_marks as m (board_id, user_id, best_rank, best_rank_at, days_in_top_10, last_top_10,
    last_rank, last_at)
select $1, t.u, t.rank, $2, case when t.rank <= 10 then 1 else 0 end,
    case when t.rank <= 10 then ($2::timestamptz at time zone 'UTC')::date end, t.rank, $2
from unnest($4::text[], $5::bigint[]) as t(u, rank)
join users as known on known.user_id = t.u and known.status <> 'erased'
on conflict (board_id, user_id) do update set
    best_rank = least(m.best_rank, excluded.best_rank),
    best_rank_at = case when excluded.best_rank < m.best_rank then $2 else m.best_rank_at end,
    days_in_top_10 = m.days_in_top_10 + case when excluded.last_top_10 > coalesce(m.last_top_10, '-infinity')
        then 1 else 0 end,
    last_top_10 = coalesce(excluded.last_top_10, m.last_top_10),
    last_rank = excluded.last_rank,
    last_at = $2,
    climb_from = case when ` + climbed + ` then m.last_rank else m.climb_from end,
    climb_to = case when ` + climbed + ` then excluded.last_rank else m.climb_to end,
    climb_began_at = case when ` + climbed + ` then m.last_at else m.climb_began_at end,
    climb_ended_at = case when ` + climbed + ` then $2 else m.climb_ended_at end`

	// What a sample would count of ranks that are those of the sample before.
	sqlSameRanks = `update rank_marks as m set days_in_top_10 = days_in_top_10 + 1,
    last_top_10 = ($2::timestamptz at time zone 'UTC')::date
from users as u where m.board_id = $1 and m.last_at = $3 and m.last_rank <= 10
    and m.last_top_10 < ($2::timestamptz at time zone 'UTC')::date
    and u.user_id = m.user_id and u.status not in ('banned', 'erased') and not u.private`

	sqlSampled = `insert into rank_samples as s (board_id, hour, sampled_at, since)
values ($1, $2, case when $3 then $2::timestamptz end, case when $3 then $2::timestamptz end)
on conflict (board_id) do update set hour = excluded.hour, sampled_at = coalesce(excluded.sampled_at, s.sampled_at),
    since = coalesce(s.since, excluded.since)`
)

// mark calls do with the hour of the last sample of a board, unless the hour or a later one has been
// dealt with. do returns whether it added a sample.
func (m *PastBoards) mark(
	ctx context.Context, board scoreboard.BoardID, hour time.Time, do func(tx pgx.Tx, last *time.Time) (bool, error),
) error {
	return pgx.BeginFunc(ctx, m.db, func(tx pgx.Tx) error {
		// No erasure and no other sample runs meanwhile; what follows sees those before it.
		_, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended($1, 0))`, pg.StatusLock)
		if err != nil {
			return err
		}
		var done bool
		var last *time.Time
		err = tx.QueryRow(ctx, `select hour >= $2, sampled_at from rank_samples where board_id = $1`, board, hour).
			Scan(&done, &last)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) || done {
			return err
		}
		sampled, err := do(tx, last)
		if err == nil {
			_, err = tx.Exec(ctx, sqlSampled, board, hour, sampled)
		}
		return err
	})
}

// AllTimeRanks returns the statistics of all samples of a user's ranks; nil without one.
func (m *PastBoards) AllTimeRanks(
	ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID,
) (*scoreboard.AllTimeRanks, error) {
	var k scoreboard.AllTimeRanks
	var from, to *int64
	var began, ended *time.Time
	err := m.query(ctx, func(db pg.Querier) error {
		return db.QueryRow(ctx, `select m.best_rank, m.best_rank_at, m.days_in_top_10, m.climb_from, m.climb_to,
    m.climb_began_at, m.climb_ended_at, s.since
from rank_marks as m join rank_samples as s using (board_id) where m.board_id = $1 and m.user_id = $2`, board, user).
			Scan(&k.BestRank, &k.BestRankAt, &k.DaysInTop10, &from, &to, &began, &ended, &k.Since)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the all-time ranks of %s on board %s: %w", user, board, err))
	}
	k.BestRankAt, k.Since = k.BestRankAt.UTC(), k.Since.UTC()
	if from != nil {
		k.Climb = &scoreboard.RankClimb{Began: began.UTC(), Ended: ended.UTC(), Ranks: *from - *to}
	}
	return &k, nil
}
