package users

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

const (
	// As the relays': the time before the snapshot, and no plan that reads a whole partition.
	sqlPlan = `select clock_timestamp(), set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true)`

	// After a minute without a pass it is cheaper to compare all teams.
	sqlState = `select cluster is null or cluster <> c and '' not in (cluster, c) or cursor_xid > pg_snapshot_xmax(s)
        or passed_at < clock_timestamp() - interval '1 minute',
    cursor_xid, pg_snapshot_xmin(s)
from team_state, standings_cluster() as c, pg_current_snapshot() as s`

	// The teams whose members have changed scores on the source since the cursor, in
	// transactions below the horizon ($2), which have all ended. A user who has left a team
	// matters to it when the user begins to count, with the first score (version 1), and when
	// the status of the user changes: such rows have no delta.
	sqlTeamsOfChanges = `with sources as materialized (
    select distinct source_board from boards where source_board is not null and status = 'active'
), shards as (
    select shard from relay_shards union select generate_series(0, coalesce((select max(shard)
        from outbox_score_updates), 0))
), changed as materialized (
    select o.user_id, o.board_id, bool_or(o.delta = 0 or o.version = 1) as counting
    from shards cross join lateral (
        select user_id, board_id, delta, version from outbox_score_updates as u
        where u.shard = shards.shard and u.xid >= $1::xid8 and u.xid < $2::xid8
            and u.board_id in (select source_board from sources) offset 0) as o
    group by o.user_id, o.board_id
)
select distinct b.board_id, m.team, t.memberships
from changed as c join boards as b on b.source_board = c.board_id and b.status = 'active'
cross join lateral (
    select team from team_members as m where m.user_id = c.user_id and m.board_id = b.board_id
        and (m.left_at is null or c.counting) offset 0) as m
join teams as t on t.board_id = b.board_id and t.team = m.team
order by b.board_id, m.team`

	sqlTeamChanges = `select c.change_id, c.board_id, coalesce(c.team, ''), coalesce(t.memberships, 0)
from team_changes as c join boards as b on b.board_id = c.board_id
left join teams as t on t.board_id = c.board_id and t.team = c.team
order by c.change_id limit $1`

	// Only if no other process has moved the cursor since it was read.
	sqlMoveCursor = `update team_state set cluster = standings_cluster(), cursor_xid = $2, passed_at = $3
where cursor_xid = $1`
)

// maxChanges is how many rows of team_changes one pass handles, and maxTeams how many teams
// one transaction computes.
const maxChanges, maxTeams = 1000, 100

// state is the state of the teams when a pass begins.
type state struct {
	at           time.Time // before everything else
	stale        bool      // all teams must be compared
	from, to     uint64    // the cursor, and the horizon: transactions below have ended
	changes      []int64   // of team_changes, to delete
	boards, full []scoreboard.BoardID
	teams        map[scoreboard.BoardID][]weighted
	seen         map[scoreboard.BoardID]map[scoreboard.Team]bool // those in teams
	more         bool
}

// weighted is a team with the number of its memberships.
type weighted struct {
	team   scoreboard.Team
	weight int
}

// Update computes the teams whose members, or whose members' scores, have changed. It calls
// next before each transaction, and ends with its error. It returns how many scores it has
// recorded, and up to when everything that was committed is in them.
func (t *Teams) Update(ctx context.Context, next func(context.Context) error) (pass scoreboard.TeamPass, err error) {
	st, err := t.read(ctx)
	if err != nil {
		return pass, pg.Translate(fmt.Errorf("read changes of teams: %w", err))
	}
	for _, id := range st.boards {
		board, err := pg.FindBoard(ctx, t.db, id)
		if err != nil {
			return pass, err
		}
		n, err := t.computeSome(ctx, board, st.teams[id], next)
		if pass.Recorded += n; err != nil {
			return pass, err
		}
	}
	for _, id := range st.full {
		n, err := t.computeAll(ctx, id, next)
		if pass.Recorded += n; err != nil {
			return pass, err
		}
	}
	if err := next(ctx); err != nil {
		return pass, err
	}
	err = pgx.BeginFunc(ctx, t.db, func(tx pgx.Tx) error {
		if len(st.changes) > 0 {
			_, err := tx.Exec(ctx, `delete from team_changes where change_id = any($1)`, st.changes)
			if err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, sqlMoveCursor, st.from, st.to, st.at)
		return err
	})
	if err != nil {
		return pass, pg.Translate(fmt.Errorf("move the cursor of the teams: %w", err))
	}
	pass.At, pass.More, pass.All = st.at, st.more, st.stale
	return pass, nil
}

// read lists the teams to compute. A later commit has its own outbox row, for the next pass.
func (t *Teams) read(ctx context.Context) (*state, error) {
	st := &state{
		teams: make(map[scoreboard.BoardID][]weighted), seen: make(map[scoreboard.BoardID]map[scoreboard.Team]bool),
	}
	err := pgx.BeginTxFunc(ctx, t.db, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, sqlPlan).Scan(&st.at, nil, nil, nil); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, sqlState).Scan(&st.stale, &st.from, &st.to); err != nil {
			return err
		}
		if err := st.readChanges(ctx, tx); err != nil {
			return err
		}
		if !st.stale {
			return st.readTeams(ctx, tx)
		}
		rows, err := tx.Query(ctx, `select board_id from boards where source_board is not null and status = 'active'`)
		if err != nil {
			return err
		}
		st.full, err = pgx.CollectRows(rows, pgx.RowTo[scoreboard.BoardID])
		return err
	})
	if st.stale { // all of them
		st.boards, st.teams = nil, nil
	}
	return st, err
}

// add adds a team to compute, once.
func (st *state) add(board scoreboard.BoardID, team weighted) {
	if st.seen[board] == nil {
		st.seen[board] = make(map[scoreboard.Team]bool)
		st.boards = append(st.boards, board)
	}
	if !st.seen[board][team.team] {
		st.seen[board][team.team] = true
		st.teams[board] = append(st.teams[board], team)
	}
}

func (st *state) readTeams(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, sqlTeamsOfChanges, st.from, st.to)
	if err != nil {
		return err
	}
	var board scoreboard.BoardID
	var team weighted
	_, err = pgx.ForEachRow(rows, []any{&board, &team.team, &team.weight}, func() error {
		st.add(board, team)
		return nil
	})
	return err
}

func (st *state) readChanges(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, sqlTeamChanges, maxChanges)
	if err != nil {
		return err
	}
	all := make(map[scoreboard.BoardID]bool)
	var id int64
	var board scoreboard.BoardID
	var team weighted
	_, err = pgx.ForEachRow(rows, []any{&id, &board, &team.team, &team.weight}, func() error {
		st.changes = append(st.changes, id)
		switch {
		case team.team != "":
			st.add(board, team)
		case !all[board]:
			all[board] = true
			st.full = append(st.full, board)
		}
		return nil
	})
	st.more = len(st.changes) == maxChanges
	return err
}

// computeSome computes teams in short transactions.
func (t *Teams) computeSome(
	ctx context.Context, board *scoreboard.Board, teams []weighted, next func(context.Context) error,
) (recorded int, err error) {
	for len(teams) > 0 {
		var batch []scoreboard.Team
		sum := 0
		for len(teams) > 0 && len(batch) < maxTeams && (len(batch) == 0 || sum+teams[0].weight <= heaviest) {
			batch, sum, teams = append(batch, teams[0].team), sum+teams[0].weight, teams[1:]
		}
		if err := next(ctx); err != nil {
			return recorded, err
		}
		n, err := t.Compute(ctx, board, batch)
		if recorded += n; err != nil {
			return recorded, err
		}
	}
	return recorded, nil
}

// computeAll compares all teams of a board with their members, and computes those that
// differ.
func (t *Teams) computeAll(
	ctx context.Context, id scoreboard.BoardID, next func(context.Context) error,
) (recorded int, err error) {
	board, err := pg.FindBoard(ctx, t.db, id)
	if err != nil {
		return 0, err
	}
	for after := scoreboard.Team(""); ; {
		if err := next(ctx); err != nil {
			return recorded, err
		}
		found, last, err := t.Differences(ctx, board, after, maxTeams)
		if err != nil {
			return recorded, err
		}
		var teams []scoreboard.Team
		for i := range found {
			teams = append(teams, found[i].Team)
		}
		if len(teams) > 0 {
			n, err := t.Compute(ctx, board, teams)
			if recorded += n; err != nil {
				return recorded, err
			}
		}
		if last == "" {
			return recorded, nil
		}
		after = last
	}
}

// Age returns how old the scores of teams are: everything that was committed before is in
// them.
func (t *Teams) Age(ctx context.Context) (age time.Duration, err error) {
	err = t.db.QueryRow(ctx, `select greatest(clock_timestamp() - coalesce(nullif(passed_at, '-infinity'),
    (select min(created_at) from boards where source_board is not null), clock_timestamp()), interval '0')
from team_state`).Scan(&age)
	if err != nil {
		return 0, pg.Translate(fmt.Errorf("read the age of the teams: %w", err))
	}
	return age, nil
}
