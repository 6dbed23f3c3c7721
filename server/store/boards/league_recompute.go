package boards

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// recomputedPlayers is for how many places one call recomputes the outcomes of whole cohorts.
const recomputedPlayers = 10_000

const (
	sqlLockDecided = `select r.revision from league_runs as r join boards as b using (board_id)
where r.board_id = $1 and b.league_decided_at is not null for update of r`

	// Whether a reversal or a void in force names the event of a ledger row h. A void also names events that it
	// has skipped because their boards had ended.
	sqlInForce = `(exists (select from reversals as r where r.user_id = h.user_id and r.event_id = h.event_id
        and r.internal = (h.source = 'admin'))
    or h.source <> 'admin' and exists (select from voids as v cross join lateral (
            select state from void_events where void_id = v.id and user_id = h.user_id and event_id = h.event_id) as e
        where v.state in ('listing', 'reversing', 'done') and e.state <> 'undone'))`

	// Whether the sealed standings count the event nevertheless: reversals before the end are in them already.
	sqlNamed = `(not exists (select from reversals as r join user_score_histories as t on t.user_id = r.user_id
        and t.event_id = r.reversal_id and t.source = 'admin' and t.board_id = h.board_id
        where r.user_id = h.user_id and r.event_id = h.event_id and r.internal = (h.source = 'admin'))
    and ` + sqlInForce + `)`

	// Members of the next cohorts who had an outcome, whether one of their events is named, and whether the
	// outcome was corrected before.
	sqlAffectedCohorts = `with cohorts as (
    select cohort_id from league_cohorts where board_id = $1 and cohort_id > $2 order by cohort_id limit $3
), names as (
    select c.cohort_id, m.user_id, exists (select from (
            select event_id, internal from reversals where user_id = m.user_id
            union all select e.event_id, false from voids as v cross join lateral (
                select event_id, state from void_events where void_id = v.id and user_id = m.user_id) as e
            where v.state in ('listing', 'reversing', 'done') and e.state <> 'undone') as n
        join user_score_histories as h on h.user_id = m.user_id and h.event_id = n.event_id
            and (h.source = 'admin') = n.internal and h.board_id = $1 and ` + sqlNamed + `) as named,
        exists (select from league_outcomes as o
            where o.user_id = m.user_id and o.board_id = $1 and o.revision > 1) as corrected
    from cohorts as c join league_members as m on m.cohort_id = c.cohort_id
)
select (select count(*) from cohorts), coalesce((select max(cohort_id) from cohorts), $2),
    coalesce((select array_agg(distinct cohort_id) from names where named or corrected), '{}'),
    coalesce((select array_agg(user_id) from names where named), '{}')`

	// The players who took a rank when the period was decided, with the newest outcome of each.
	sqlDecidedPlayers = `select m.cohort_id, m.user_id, s.order_key, s.sub_key, s.reached_at, o.from_division,
    coalesce(n.rank, 0),
    n.players, n.step, o.players,
    (select sum(moved) from league_outcomes where user_id = m.user_id and board_id = $1)
from league_members as m join league_outcomes as o on o.user_id = m.user_id and o.board_id = $1 and o.revision = 1
join board_standings as s on s.board_id = $1 and s.user_id = m.user_id
cross join lateral (select rank, players, step from league_outcomes
    where user_id = m.user_id and board_id = $1 order by revision desc limit 1) as n
where m.cohort_id = any($2) and o.cohort_id is not null order by m.cohort_id, m.user_id`

	// All that is in force, also what was reversed before the end: a fold does not add up rows of reversals.
	sqlCorrectedRows = `select u.id, h.event_id, h.delta, h.source = 'admin', coalesce(h.action, ''), h.recorded_at,
    h.version, h.new_score - h.applied, h.previous_score is not null, h.named, coalesce(h.subscore, 0),
    coalesce(h.previous_subscore, 0)
from unnest($2::text[]) as u(id) cross join lateral (select h.*, ` + sqlInForce + ` as named
    from user_score_histories as h where h.user_id collate "POSIX" = u.id and h.board_id = $1 offset 0) as h
order by u.id, h.version`

	// The step is taken back and the new one made, wherever the player is by now.
	sqlCorrectOutcomes = `with corrected as (
    select t.*, coalesce(l.division, 1) as present,
        greatest(least(coalesce(l.division, 1) + t.step - t.before, $9::integer), 1) as next
    from unnest($3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::integer[], $8::integer[], $10::integer[])
        as t(user_id, cohort_id, rank, players, division, step, before)
    left join league_divisions as l on l.board_id = split_part($1, ':', 1) and l.user_id = t.user_id
), stored as (
    insert into league_outcomes (board_id, user_id, revision, cohort_id, rank, players, from_division, step,
        to_division, moved)
    select $1, c.user_id, $2, c.cohort_id, nullif(c.rank, 0), c.players, c.division, c.step, c.next, c.next - c.present
    from corrected as c
), moved as (
    insert into league_divisions as l (board_id, user_id, division)
    select split_part($1, ':', 1), c.user_id, c.next from corrected as c where c.next <> c.present and c.next > 1
    on conflict (board_id, user_id) do update set division = excluded.division
), lowest as (
    delete from league_divisions as l using corrected as c
    where l.board_id = split_part($1, ':', 1) and l.user_id = c.user_id and c.next <> c.present and c.next = 1
)
update league_runs set revision = $2 where board_id = $1`
)

// recomputed is a player of a cohort while it is recomputed.
type recomputed struct {
	scoreboard.LeagueCorrection
	at      scoreboard.Position
	players int64 // before
	decided int64 // players of the cohort when the period was decided
	moved   int   // by how many divisions the period has moved the player so far
	left    bool  // has no standing without the events
}

// RecomputeLeague derives the outcomes of a period that is decided from the ledger without the events that
// reversals and voids name, for the next cohorts after an id, and returns what differs. Sealed standings
// stay as they are. With why it stores the differences as a new revision, and moves the players. next is the
// cohort to continue after, 0 behind the last one.
func (s *Leagues) RecomputeLeague(
	ctx context.Context, board *scoreboard.Board, after int64, why *scoreboard.AuditEntry,
) (found []scoreboard.LeagueCorrection, next int64, err error) {
	err = s.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		found, next = nil, 0
		if _, err := tx.Exec(ctx, sqlLockStatuses, pg.StatusLock); err != nil {
			return err
		}
		var revision int
		err := tx.QueryRow(ctx, sqlLockDecided, board.ID).Scan(&revision)
		if errors.Is(err, pgx.ErrNoRows) {
			return scoreboard.Errorf(wire.CodeConflict, "the period %s has not been decided", board.ID)
		}
		if err != nil {
			return err
		}
		var cohorts int
		var affected []int64
		var users []scoreboard.UserID
		limit := max(recomputedPlayers/board.League.CohortSize, 1)
		err = tx.QueryRow(ctx, sqlAffectedCohorts, board.ID, after, limit).Scan(&cohorts, &next, &affected, &users)
		if err != nil {
			return err
		}
		if cohorts < limit {
			next = 0
		}
		all, err := recompute(ctx, tx, board, affected, users)
		if err != nil {
			return err
		}
		for i := range all {
			found = append(found, all[i].LeagueCorrection)
		}
		if why == nil || len(all) == 0 {
			return nil
		}
		if err := correct(ctx, tx, board, revision+1, all); err != nil {
			return err
		}
		return pg.WriteAudit(ctx, tx, why)
	})
	if err != nil {
		return nil, 0, pg.Translate(fmt.Errorf("recompute the period %s of a league: %w", board.ID, err))
	}
	return found, next, nil
}

// recompute ranks cohorts again, and returns the players whose outcomes differ.
func recompute(
	ctx context.Context, tx pgx.Tx, board *scoreboard.Board, cohorts []int64, users []scoreboard.UserID,
) ([]recomputed, error) {
	standings, err := foldWithout(ctx, tx, board, users)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, sqlDecidedPlayers, board.ID, cohorts)
	if err != nil {
		return nil, err
	}
	players, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p recomputed, err error) {
		err = row.Scan(&p.Cohort, &p.User, &p.at.Key, &p.at.SubKey, &p.at.ReachedAt, &p.Division,
			&p.RankBefore, &p.players,
			&p.StepBefore, &p.decided, &p.moved)
		p.at.ReachedAt, p.at.User = p.at.ReachedAt.UTC(), p.User
		if to, folded := standings[p.User]; folded {
			p.left = !to.Exists
			p.at = board.PositionOf(to.Pair, to.ReachedAt, p.User)
		}
		return p, err
	})
	if err != nil {
		return nil, err
	}
	var differ []recomputed
	for first := 0; first < len(players); {
		end := first + 1
		for end < len(players) && players[end].Cohort == players[first].Cohort {
			end++
		}
		cohort := players[first:end]
		first = end
		if int64(len(cohort)) != cohort[0].decided {
			continue // a player has been erased, and nobody knows which rank that was
		}
		rankCohort(board, cohort)
		for i := range cohort {
			p := &cohort[i]
			if p.Rank != p.RankBefore || p.Players != p.players || p.Step != p.StepBefore {
				differ = append(differ, *p)
			}
		}
	}
	return differ, nil
}

// rankCohort sets the ranks and the steps of a cohort.
func rankCohort(board *scoreboard.Board, cohort []recomputed) {
	slices.SortFunc(cohort, func(a, b recomputed) int {
		if a.left != b.left {
			if a.left {
				return 1
			}
			return -1
		}
		return a.at.Compare(&b.at)
	})
	ranked := int64(len(cohort))
	for ranked > 0 && cohort[ranked-1].left {
		ranked--
	}
	for i := range cohort {
		p := &cohort[i]
		p.Players = ranked
		if p.left {
			continue // without a standing, the player stays
		}
		p.Rank = int64(i) + 1
		if i > 0 && board.SharesRanks() && board.RankedAt(cohort[i-1].at) == board.RankedAt(p.at) {
			p.Rank = cohort[i-1].Rank
		}
		switch board.League.ZoneOf(p.Division, p.Rank, ranked) {
		case scoreboard.ZonePromotion:
			p.Step = 1
		case scoreboard.ZoneRelegation:
			p.Step = -1
		case scoreboard.ZoneSafe:
		}
	}
}

// foldWithout recomputes the scores of users on a board without the events that are named.
func foldWithout(
	ctx context.Context, tx pgx.Tx, board *scoreboard.Board, users []scoreboard.UserID,
) (map[scoreboard.UserID]ledger.Standing, error) {
	standings := make(map[scoreboard.UserID]ledger.Standing, len(users))
	if len(users) == 0 {
		return standings, nil
	}
	rows, err := tx.Query(ctx, sqlCorrectedRows, board.ID, users)
	if err != nil {
		return nil, err
	}
	var user, folding scoreboard.UserID
	var fold *ledger.Fold
	var r ledger.FoldRow
	to := []any{
		&user, &r.Event, &r.Delta, &r.Admin, &r.Action, &r.At, &r.Version, &r.Before, &r.Existed, &r.Reversed,
		&r.Subscore, &r.SubscoreBefore,
	}
	_, err = pgx.ForEachRow(rows, to, func() error {
		if fold == nil || user != folding {
			fold, folding = ledger.NewFold(board), user
		}
		fold.Add(&r)
		standings[user] = fold.Standing()
		return nil
	})
	return standings, err
}

// correct stores what differs as a revision, and moves the players.
func correct(ctx context.Context, tx pgx.Tx, board *scoreboard.Board, revision int, all []recomputed) error {
	n := len(all)
	users, cohorts, ranks, players := make([]string, n), make([]int64, n), make([]int64, n), make([]int64, n)
	divisions, steps, before := make([]int, n), make([]int, n), make([]int, n)
	for i := range all {
		p := &all[i]
		users[i], cohorts[i], ranks[i], players[i] = string(p.User), p.Cohort, p.Rank, p.Players
		divisions[i], steps[i], before[i] = p.Division, p.Step, p.moved
	}
	_, err := tx.Exec(ctx, sqlCorrectOutcomes, board.ID, revision, users, cohorts, ranks, players, divisions, steps,
		board.League.Divisions, before)
	return err
}
