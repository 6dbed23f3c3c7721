package boards

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

const (
	// The periods of a league are decided one after the other: where players start follows from the
	// period before.
	sqlDueLeagues = `select b.board_id, extract(epoch from clock_timestamp() - b.period_end)::float8
from boards as b
where b.league is not null and b.league_decided_at is null and b.period_end <= clock_timestamp()
    and b.standings_hash is not null
    and not exists (select from boards as e where e.league is not null and e.league_decided_at is null
        and e.family_id = b.family_id and e.period_end < b.period_end)
order by b.period_end, b.board_id limit $1`

	// And no plan that reads all standings for each chunk.
	sqlLockStatuses = `select pg_advisory_xact_lock(hashtextextended($1, 0)), set_config('enable_seqscan', 'off', true),
    set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

	sqlBeginLeagueRun = `insert into league_runs (board_id, revision) values ($1, $2) on conflict (board_id) do nothing`

	sqlLockLeagueRun = `select r.next_cohort, r.next_idle, r.revision
from league_runs as r join boards as b using (board_id)
where r.board_id = $1 and b.league_decided_at is null for update of r`

	// Ranks follow from the sealed standings: whoever is not in them, or is banned, erased or private now,
	// takes none and keeps the division. Promotion is decided first. A player moves from the present
	// division, which is that of the cohort unless an earlier period was corrected meanwhile.
	sqlDecideCohorts = `with cohorts as (
    select cohort_id, division from league_cohorts where board_id = $1 and cohort_id > $2 order by cohort_id limit $3
), ranked as (
    select m.user_id, c.cohort_id, c.division, rank() over w as rank,
        count(*) over (partition by c.cohort_id) as players
    from cohorts as c join league_members as m on m.cohort_id = c.cohort_id
    join board_standings as s on s.board_id = $1 and s.user_id = m.user_id
    join users as u on u.user_id = m.user_id
    where u.status not in ('banned', 'erased') and not u.private
    window w as (partition by c.cohort_id order by coalesce(s.shared_rank, s.rank))
), steps as (
    select r.*, case
        when r.players < $5 then 0
        when r.division < $6 and r.rank <= $7 then 1
        when r.division > 1 and r.rank > r.players - $8 then -1
        else 0 end as step
    from ranked as r
), decided as (
    select s.*, coalesce(l.division, 1) as present,
        least(greatest(coalesce(l.division, 1) + s.step, 1), $6::integer) as next
    from steps as s left join league_divisions as l on l.board_id = split_part($1, ':', 1) and l.user_id = s.user_id
), stored as (
    insert into league_outcomes (board_id, user_id, revision, cohort_id, rank, players, from_division, step,
        to_division, moved)
    select $1, d.user_id, $4, d.cohort_id, d.rank, d.players, d.division, d.step, d.next, d.next - d.present
    from decided as d
), ` + sqlMoveDecided + `
select (select count(*) from cohorts), coalesce((select max(cohort_id) from cohorts), $2),
    (select count(*) from decided where step <> 0)`

	sqlContinueLeagueRun = `update league_runs set next_cohort = $2, next_idle = $3 where board_id = $1`

	// Players above the lowest division who submitted nothing. One who was private then has a score, too, and
	// keeps the division.
	sqlDecideIdle = `with players as (
    select user_id, division from league_divisions
    where board_id = split_part($1, ':', 1) and user_id > $2 order by user_id limit $3
), decided as (
    select p.user_id, p.division, -1 as step, p.division - 1 as next
    from players as p join users as u on u.user_id = p.user_id
    where u.status not in ('banned', 'erased') and not u.private
        and not exists (select from scores as s where s.user_id = p.user_id and s.board_id = $1 and s.version > 0)
), stored as (
    insert into league_outcomes (board_id, user_id, revision, players, from_division, step, to_division,
        moved)
    select $1, d.user_id, $4, 0, d.division, d.step, d.next, d.step from decided as d
), ` + sqlMoveDecided + `
select (select count(*) from players), coalesce((select max(user_id) from players), $2), (select count(*) from decided)`

	// Divisions are stored of players above the lowest.
	sqlMoveDecided = `moved as (
    insert into league_divisions as l (board_id, user_id, division)
    select split_part($1, ':', 1), d.user_id, d.next from decided as d where d.step <> 0 and d.next > 1
    on conflict (board_id, user_id) do update set division = excluded.division
), lowest as (
    delete from league_divisions as l using decided as d
    where l.board_id = split_part($1, ':', 1) and l.user_id = d.user_id and d.step <> 0 and d.next = 1
)`

	sqlNextPeriod = `select board_id from boards where family_id = $1 and period_start >= $2
order by period_end limit 1`

	// Users who may take no place leave the queue; the next submission takes one if they may by then.
	sqlPlaceWaiting = `with waiting as (
    select m.user_id, m.fill, u.status not in ('banned', 'erased') and not u.private as plays
    from league_members as m join users as u on u.user_id = m.user_id
    where m.board_id = $1 and m.cohort_id is null order by m.user_id limit $2
), placed as (
    update league_members as m set cohort_id = league_place(w.user_id, $1, w.fill) from waiting as w
    where m.board_id = $1 and m.user_id = w.user_id and w.plays
), gone as (
    delete from league_members as m using waiting as w
    where m.board_id = $1 and m.user_id = w.user_id and not w.plays
)
select count(*) from waiting`

	sqlTakeNewcomers = `update league_runs set takes_newcomers = true where board_id = $1`

	// The name of a player does not stay behind.
	sqlDecided = `with run as (update league_runs set next_idle = '' where board_id = $1)
update boards set league_decided_at = clock_timestamp() where board_id = $1`
)

// DueLeagues lists periods of leagues that have ended with final standings and are not decided, the
// earliest end first, at most one of each league.
func (s *Leagues) DueLeagues(ctx context.Context) ([]scoreboard.DuePeriod, error) {
	return duePeriods(ctx, s.db, "find periods of leagues", sqlDueLeagues)
}

// leagueRun is the decision of a period, as the transaction of a step has read it.
type leagueRun struct {
	board      *scoreboard.Board
	next       scoreboard.BoardID // the period after it; "" if there is none yet
	nextCohort int64
	nextIdle   scoreboard.UserID
	revision   int
}

// leagueStep decides about at most size cohorts or players, and reports how many have moved and whether
// there may be more for it.
type leagueStep func(ctx context.Context, tx pgx.Tx, run *leagueRun, size int) (moved int64, more bool, err error)

// DecideLeague decides who moves at the end of a period whose standings are final, size players in each
// transaction, before which it calls next, and returns how many have moved. Then it places the players
// of the period after it who have waited for that. It continues an interrupted call, and several may
// run at once: each player moves once.
func (s *Leagues) DecideLeague(
	ctx context.Context, id scoreboard.BoardID, size int, next func(context.Context) error,
) (moved int64, err error) {
	run, err := s.beginRun(ctx, id)
	steps := []leagueStep{decideCohorts}
	if err == nil && run.board.League.IdleRelegated {
		steps = append(steps, decideIdle)
	}
	do := func(step leagueStep) {
		for more := true; err == nil && more; {
			if err = next(ctx); err == nil {
				var n int64
				n, more, err = s.inRun(ctx, run, step, size)
				moved += n
			}
		}
	}
	for _, step := range steps {
		do(step)
	}
	if err == nil {
		if err = next(ctx); err == nil {
			err = s.takeNewcomers(ctx, run)
		}
	}
	do(placeWaiting)
	if err != nil {
		return moved, pg.Translate(fmt.Errorf("decide the period %s of a league: %w", id, err))
	}
	return moved, nil
}

// beginRun returns the run of a period, and stores it if it is new.
func (s *Leagues) beginRun(ctx context.Context, id scoreboard.BoardID) (*leagueRun, error) {
	run := &leagueRun{}
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		board, err := pg.ScanBoard(tx.QueryRow(ctx, `select `+pg.BoardColumns+` from boards
where board_id = $1 and standings_hash is not null and league is not null`, id))
		if err != nil {
			return err
		}
		run.board = &board
		_, err = tx.Exec(ctx, sqlBeginLeagueRun, id, 1)
		return err
	})
	return run, err
}

// findNext finds the period after that of the run.
func (r *leagueRun) findNext(ctx context.Context, tx pgx.Tx) error {
	err := tx.QueryRow(ctx, sqlNextPeriod, r.board.Family, r.board.PeriodEnd).Scan(&r.next)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

// lockRun has no change of a user's status overlap the transaction, nor another step of the run, and
// reads where that is; false if another process has ended it.
func (r *leagueRun) lockRun(ctx context.Context, tx pgx.Tx) (bool, error) {
	_, err := tx.Exec(ctx, sqlLockStatuses, pg.StatusLock)
	if err != nil {
		return false, err
	}
	err = tx.QueryRow(ctx, sqlLockLeagueRun, r.board.ID).Scan(&r.nextCohort, &r.nextIdle, &r.revision)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// inRun runs a step in a transaction.
func (s *Leagues) inRun(
	ctx context.Context, run *leagueRun, step leagueStep, size int,
) (moved int64, more bool, err error) {
	err = s.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		moved, more = 0, false
		if goes, err := run.lockRun(ctx, tx); err != nil || !goes {
			return err
		}
		moved, more, err = step(ctx, tx, run, size)
		return err
	})
	return moved, more, err
}

// decideCohorts decides about the players of the next cohorts.
func decideCohorts(
	ctx context.Context, tx pgx.Tx, run *leagueRun, size int,
) (moved int64, more bool, err error) {
	l := run.board.League
	var cohorts int64
	err = tx.QueryRow(ctx, sqlDecideCohorts, run.board.ID, run.nextCohort, max(size/l.CohortSize, 1), run.revision,
		l.Min, l.Divisions, l.Promote, l.Relegate).Scan(&cohorts, &run.nextCohort, &moved)
	if err == nil && cohorts > 0 {
		_, err = tx.Exec(ctx, sqlContinueLeagueRun, run.board.ID, run.nextCohort, run.nextIdle)
	}
	return moved, cohorts > 0, err
}

// decideIdle decides about the next players without a submission.
func decideIdle(ctx context.Context, tx pgx.Tx, run *leagueRun, size int) (moved int64, more bool, err error) {
	var players int64
	err = tx.QueryRow(ctx, sqlDecideIdle, run.board.ID, run.nextIdle, size, run.revision).
		Scan(&players, &run.nextIdle, &moved)
	if err == nil && players > 0 {
		_, err = tx.Exec(ctx, sqlContinueLeagueRun, run.board.ID, run.nextCohort, run.nextIdle)
	}
	return moved, players > 0, err
}

// takeNewcomers has newcomers take their places themselves, whose divisions are known now. Submissions to the league
// wait for this short transaction, so all who have to wait for their places have begun to when it commits.
func (s *Leagues) takeNewcomers(ctx context.Context, run *leagueRun) error {
	return s.boards.exclusively(ctx, run.board.Family, func(tx pgx.Tx) error {
		goes, err := run.lockRun(ctx, tx)
		if err == nil && goes {
			_, err = tx.Exec(ctx, sqlTakeNewcomers, run.board.ID)
		}
		return err
	})
}

// placeWaiting places players who have waited, and says that the period is decided when nobody does any more.
func placeWaiting(ctx context.Context, tx pgx.Tx, run *leagueRun, size int) (moved int64, more bool, err error) {
	if err := run.findNext(ctx, tx); err != nil { // a season may have begun
		return 0, false, err
	}
	var placed int
	err = tx.QueryRow(ctx, sqlPlaceWaiting, run.next, size).Scan(&placed)
	if err == nil && placed == 0 {
		_, err = tx.Exec(ctx, sqlDecided, run.board.ID)
	}
	return 0, placed > 0, err
}
