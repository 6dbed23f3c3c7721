package boards

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Leagues stores who plays where in leagues, and decides who moves when a period has ended. Places are
// taken by the transactions that record submissions (league_join).
type Leagues struct {
	db     *pg.DB
	boards *Boards
}

// NewLeagues returns a Leagues over db.
func NewLeagues(db *pg.DB, b *Boards) *Leagues { return &Leagues{db, b} }

const (
	// A player of a period stays in the division of the cohort, whatever was decided later.
	sqlMember = `select m.user_id is not null, coalesce(m.cohort_id, 0), coalesce(c.division, d.division, 1)
from (select $1::text as user_id, $2::text as board_id) as p
left join league_members as m on m.user_id = p.user_id and m.board_id = p.board_id
left join league_cohorts as c on c.cohort_id = m.cohort_id
left join league_divisions as d on d.board_id = split_part(p.board_id, ':', 1) and d.user_id = p.user_id`

	// One probe of the index for each user, whatever the statistics say.
	sqlUnplaced = `select u.user_id from unnest($2::text[]) as u (user_id)
where (select m.cohort_id from league_members as m where m.user_id = u.user_id and m.board_id = $1) is null`

	sqlCohort = `select division,
    array(select user_id from league_members where cohort_id = $2 order by user_id limit $3)
from league_cohorts where board_id = $1 and cohort_id = $2`

	// All cohorts of a period at most: those of one division have no index of their own, which increments would keep.
	sqlCohortFills = `select cohort_id, division, fill, places, size, is_full from league_cohorts
where board_id = $1 and cohort_id > $2 and ($3 = 0 or division = $3) order by cohort_id limit $4`

	// The newest revision of each period.
	sqlOutcomes = `select outcome_id, board_id, user_id, revision, coalesce(cohort_id, 0), coalesce(rank, 0), players,
    from_division, to_division, decided_at
from league_outcomes as o
where user_id = $1 and ($2 = '' or split_part(board_id, ':', 1) = $2) and ($3::bigint = 0 or outcome_id < $3)
    and not exists (select from league_outcomes as n
        where n.user_id = o.user_id and n.board_id = o.board_id and n.revision > o.revision)
order by outcome_id desc limit $4`
)

// Member returns where a user is in a period of a league.
func (s *Leagues) Member(
	ctx context.Context, period scoreboard.BoardID, user scoreboard.UserID,
) (m scoreboard.LeagueMember, err error) {
	var joined bool
	err = s.db.QueryRow(ctx, sqlMember, user, period).Scan(&joined, &m.Cohort, &m.Division)
	if err != nil {
		return m, pg.Translate(fmt.Errorf("find the place of %s in %s: %w", user, period, err))
	}
	switch {
	case m.Cohort != 0:
		m.State = scoreboard.LeaguePlaced
	case joined:
		m.State = scoreboard.LeagueWaiting
	default:
		m.State = scoreboard.LeagueNone
	}
	return m, nil
}

// Unplaced returns those of users who have no cohort in a period of a league.
func (s *Leagues) Unplaced(
	ctx context.Context, period scoreboard.BoardID, users []scoreboard.UserID,
) ([]scoreboard.UserID, error) {
	rows, err := s.db.Query(ctx, sqlUnplaced, period, users)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("find the players without a cohort in %s: %w", period, err))
	}
	none, err := pgx.CollectRows(rows, pgx.RowTo[scoreboard.UserID])
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("find the players without a cohort in %s: %w", period, err))
	}
	return none, nil
}

// Cohort returns a cohort of a period, or a not_found.
func (s *Leagues) Cohort(
	ctx context.Context, period scoreboard.BoardID, id int64,
) (*scoreboard.Cohort, error) {
	c := &scoreboard.Cohort{ID: id}
	err := s.db.QueryRow(ctx, sqlCohort, period, id, scoreboard.MaxCohortSize).Scan(&c.Division, &c.Members)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "board %s has no cohort %d", period, id)
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read cohort %d of %s: %w", id, period, err))
	}
	return c, nil
}

// CohortFills lists the cohorts of a period after an id, of one division or, for 0, of all.
func (s *Leagues) CohortFills(
	ctx context.Context, period scoreboard.BoardID, division int, after int64, limit int,
) ([]scoreboard.CohortFill, error) {
	rows, err := s.db.Query(ctx, sqlCohortFills, period, after, division, limit)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list the cohorts of %s: %w", period, err))
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c scoreboard.CohortFill, err error) {
		return c, row.Scan(&c.ID, &c.Division, &c.Fill, &c.Places, &c.Size, &c.Full)
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list the cohorts of %s: %w", period, err))
	}
	return list, nil
}

// Outcomes lists what the ends of periods have decided about a user, in one league or, for "", in all,
// newest first, before an id (0: from the newest on).
func (s *Leagues) Outcomes(
	ctx context.Context, user scoreboard.UserID, league scoreboard.BoardID, before int64, limit int,
) ([]scoreboard.LeagueOutcome, error) {
	rows, err := s.db.Query(ctx, sqlOutcomes, user, league, before, limit)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list the periods of %s in leagues: %w", user, err))
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (o scoreboard.LeagueOutcome, err error) {
		err = row.Scan(&o.ID, &o.Board, &o.User, &o.Revision, &o.Cohort, &o.Rank, &o.Players, &o.From, &o.To,
			&o.Decided)
		o.Decided = o.Decided.UTC()
		return o, err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list the periods of %s in leagues: %w", user, err))
	}
	return list, nil
}
