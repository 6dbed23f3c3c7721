package users

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// sqlCompute computes the scores of teams ($1) of a board ($2) from its source ($3), one
// probe a membership; null for a team of which nobody counts. $4 is the aggregate, $5
// whether what members gained counts, $6 the sign by which the better of two scores is the
// lower, $7 how many members count (null: all), and $8 and $9 are the bounds of a score.
// Where the lowest score is the best, a team with less members than count has none: a member
// less would be an advantage. Private users are hidden, and count.
const sqlCompute = `select t.n, case when p.score is not null
    then least(greatest(p.score, $8::bigint), $9::bigint)::bigint end
from unnest($1::text[]) with ordinality as t(team, n) cross join lateral (
    select case when $6::bigint > 0 and count(*) < $7 then null when $4 = 'average' then round(avg(points))
        else sum(points) end as score
    from (
        select points from (
            select sum(case when $5 then coalesce(m.left_score, s.score) - m.joined_score else s.score end) as points
            from team_members as m cross join lateral (
                select score from scores where user_id = m.user_id and board_id = $3 and not empty and (not hidden
                    or exists (select from users where user_id = m.user_id and private
                        and status not in ('banned', 'erased'))) offset 0) as s
            where m.board_id = $2 and m.team = t.team and ($5 or m.left_at is null)
            group by m.user_id) as members
        order by points * $6 limit $7) as counted
    offset 0) as p`

// computed returns the scores that teams of a board should have; nil for none.
func computed(
	ctx context.Context, q pg.Querier, board *scoreboard.Board, teams []scoreboard.Team,
) ([]*scoreboard.Score, error) {
	var best *int
	if board.Team.Aggregate == scoreboard.AggregateBest {
		best = &board.Team.Best
	}
	rows, err := q.Query(ctx, sqlCompute, teams, board.ID, board.Team.Source, string(board.Team.Aggregate),
		board.Team.Moves == scoreboard.MovesFromNow, board.Order.Key(1), best, int64(board.MinScore),
		int64(board.MaxScore))
	if err != nil {
		return nil, err
	}
	scores := make([]*scoreboard.Score, len(teams))
	var n int64
	var score *scoreboard.Score
	_, err = pgx.ForEachRow(rows, []any{&n, &score}, func() error {
		scores[n-1], score = score, nil
		return nil
	})
	return scores, err
}

// Compute records the scores of different teams of a board where they are not what the
// members have, and returns how many. A board that does not accept writes keeps its scores.
func (t *Teams) Compute(
	ctx context.Context, board *scoreboard.Board, teams []scoreboard.Team,
) (recorded int, err error) {
	items := make([]scoreboard.Increment, len(teams))
	for i, team := range teams {
		items[i] = ledger.TeamItem(team, board.ID)
	}
	err = pg.Retry(ctx, func() error {
		b := ledger.NewBatch(items, t.shards, nil)
		b.Computed = true
		return t.tx.Run(ctx, b, func(ctx context.Context, conn *pgxpool.Conn) error {
			// After the locks: what another process has recorded is based on an older snapshot.
			scores, err := computed(ctx, conn, board, teams)
			if err != nil {
				return err
			}
			recorded = 0
			for i := range teams {
				changed, err := b.SetTeam(i, scores[i])
				if err != nil {
					return err
				}
				if changed {
					recorded++
				}
			}
			b.Finalize()
			return storeStandings(ctx, conn, &b.Rows)
		})
	})
	switch {
	case err == nil:
		return recorded, nil
	case wire.CodeOf(err) == wire.CodeBoardClosed:
		return 0, nil
	}
	return 0, pg.Translate(fmt.Errorf("compute %d teams of board %s: %w", len(teams), board.ID, err))
}

// storeStandings writes the standings after those rows from which alone the ledger does not
// tell them: of a team that has no score any more, or one again.
func storeStandings(ctx context.Context, conn *pgxpool.Conn, r *ledger.Rows) error {
	for i := range r.Len() {
		if !r.Empty[i] && r.Applied[i] != 0 {
			continue
		}
		_, err := conn.Exec(ctx, `insert into corrected_standings (user_id, board_id, version, at, reached_at, empty)
values ($1, $2, $3, $4, $5, $6)`,
			r.Users[i], r.Boards[i], r.Versions[i], r.RecordedAt[i], r.ReachedAt[i], r.Empty[i])
		if err != nil {
			return err
		}
	}
	return nil
}

// Differences compares up to limit teams of a board, by name, after a name, with their
// members, in one snapshot and without locks. It returns those that differ, and the last
// team that it compared, "" if there are no more.
func (t *Teams) Differences(
	ctx context.Context, board *scoreboard.Board, after scoreboard.Team, limit int,
) (found []scoreboard.TeamDifference, last scoreboard.Team, err error) {
	err = pgx.BeginTxFunc(ctx, t.db, pg.Snapshot, func(tx pgx.Tx) error {
		teams, more, err := nextTeams(ctx, tx, board.ID, after, limit)
		if err != nil || len(teams) == 0 {
			return err
		}
		if more {
			last = teams[len(teams)-1]
		}
		found, err = compare(ctx, tx, board, teams)
		return err
	})
	if err != nil {
		return nil, "", pg.Translate(fmt.Errorf("compare teams of board %s: %w", board.ID, err))
	}
	return found, last, nil
}

// Compare is Differences for some teams.
func (t *Teams) Compare(
	ctx context.Context, board *scoreboard.Board, teams []scoreboard.Team,
) (found []scoreboard.TeamDifference, err error) {
	err = pgx.BeginTxFunc(ctx, t.db, pg.Snapshot, func(tx pgx.Tx) error {
		found, err = compare(ctx, tx, board, teams)
		return err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("compare %d teams of board %s: %w", len(teams), board.ID, err))
	}
	return found, nil
}

// heaviest is how many memberships one statement reads, but for a team that has more.
const heaviest = 20_000

// nextTeams lists the next teams of a board, with all together at most heaviest memberships.
func nextTeams(
	ctx context.Context, q pg.Querier, board scoreboard.BoardID, after scoreboard.Team, limit int,
) (teams []scoreboard.Team, more bool, err error) {
	rows, err := q.Query(ctx, `select team, memberships from teams where board_id = $1 and team > $2
order by team limit $3`, board, after, limit)
	if err != nil {
		return nil, false, err
	}
	var team scoreboard.Team
	var weight, sum int
	_, err = pgx.ForEachRow(rows, []any{&team, &weight}, func() error {
		if sum += weight; len(teams) > 0 && sum > heaviest {
			more = true
		}
		if !more {
			teams = append(teams, team)
		}
		return nil
	})
	return teams, more || len(teams) == limit, err
}

// compare returns those of the teams whose score is not what their members have.
func compare(
	ctx context.Context, tx pgx.Tx, board *scoreboard.Board, teams []scoreboard.Team,
) (found []scoreboard.TeamDifference, err error) {
	want, err := computed(ctx, tx, board, teams)
	if err != nil {
		return nil, err
	}
	users := make([]scoreboard.UserID, len(teams))
	for i, team := range teams {
		users[i] = team.User()
	}
	rows, err := tx.Query(ctx, `select t.n, coalesce(s.score, 0), coalesce(s.version, 0), coalesce(s.empty, true),
    exists (select from users where user_id = t.u and status = 'erased')
from unnest($1::text[]) with ordinality as t(u, n) left join lateral (
    select * from scores where user_id = t.u and board_id = $2 offset 0) as s on true`, users, board.ID)
	if err != nil {
		return nil, err
	}
	all := make([]scoreboard.TeamDifference, len(teams))
	for i := range teams {
		all[i] = scoreboard.TeamDifference{Team: teams[i], Want: want[i]}
	}
	var n, version int64
	var score scoreboard.Score
	var empty, erased bool
	_, err = pgx.ForEachRow(rows, []any{&n, &score, &version, &empty, &erased}, func() error {
		d := &all[n-1]
		if d.Version = version; erased {
			d.Want = nil
		} else if !empty {
			got := score
			d.Got = &got
		}
		return nil
	})
	for _, d := range all {
		if (d.Got == nil) != (d.Want == nil) || d.Got != nil && *d.Got != *d.Want {
			found = append(found, d)
		}
	}
	return found, err
}
