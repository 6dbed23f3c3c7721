package users

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/ledgertx"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Teams is the teams and their members.
type Teams struct {
	db     *pg.DB
	tx     ledgertx.Runner
	shards int
}

// NewTeams returns a Teams over db. shards is the number of outbox shards.
func NewTeams(db *pg.DB, shards int, window scoreboard.Window) *Teams {
	return &Teams{db, ledgertx.Runner{DB: db, Window: window}, shards}
}

const membershipColumns = `membership_id, board_id, team, user_id, joined_at, joined_score, left_at,
    coalesce(left_score, 0)`

func scanMembership(row pgx.CollectableRow) (m scoreboard.TeamMembership, err error) {
	var left *time.Time
	err = row.Scan(&m.ID, &m.Board, &m.Team, &m.User, &m.Joined, &m.JoinedScore, &left, &m.LeftScore)
	if m.Joined = m.Joined.UTC(); left != nil {
		m.Left = left.UTC()
	}
	return m, err
}

// findTeam reads at most one membership; nil if there is none.
func findTeam(ctx context.Context, q pg.Querier, sql string, args ...any) (*scoreboard.TeamMembership, error) {
	rows, err := q.Query(ctx, `select `+membershipColumns+` from team_members where `+sql, args...)
	if err != nil {
		return nil, err
	}
	m, err := pgx.CollectExactlyOneRow(rows, scanMembership)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // documented
	}
	return &m, err
}

// Join makes a user a member of a team, from now on, and ends the membership of another team
// of the board. A member stays one. It is gone for an erased user; a conflict says that the
// team or the user's history is full. A change writes why, unless that is nil.
func (t *Teams) Join(
	ctx context.Context, board scoreboard.BoardID, team scoreboard.Team, user scoreboard.UserID,
	why *scoreboard.AuditEntry,
) (m *scoreboard.TeamMembership, err error) {
	err = t.change(ctx, board, user, func(tx pgx.Tx, c *change) error {
		if c.user.Status == scoreboard.UserErased {
			return pg.ErasedUser(user)
		}
		if m = c.current; m != nil && m.Team == team {
			return nil
		}
		if m, err = c.join(ctx, tx, team); err != nil {
			return err
		}
		return pg.WriteAudit(ctx, tx, why)
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("add %s to team %s of board %s: %w", user, team, board, err))
	}
	return m, nil
}

// Leave ends a membership. It returns the last membership of the user in the team, also if
// that had ended before; a not_found if the user never was a member. A change writes why,
// unless that is nil.
func (t *Teams) Leave(
	ctx context.Context, board scoreboard.BoardID, team scoreboard.Team, user scoreboard.UserID,
	why *scoreboard.AuditEntry,
) (m *scoreboard.TeamMembership, err error) {
	err = t.change(ctx, board, user, func(tx pgx.Tx, c *change) error {
		if c.current != nil && c.current.Team == team {
			if err := c.count(ctx, tx, team, -1); err != nil {
				return err
			}
			if m, err = c.leave(ctx, tx); err != nil {
				return err
			}
			return pg.WriteAudit(ctx, tx, why)
		}
		m, err = findTeam(ctx, tx, `user_id = $1 and board_id = $2 and team = $3 order by membership_id desc limit 1`,
			user, board, team)
		if err == nil && m == nil {
			err = scoreboard.Errorf(wire.CodeNotFound, "user %s is not a member of team %s", user, team)
		}
		return err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("remove %s from team %s of board %s: %w", user, team, board, err))
	}
	return m, nil
}

// change is a change of a user's membership on a board, under the lock of the user.
type change struct {
	board   scoreboard.BoardID
	user    ledger.LockedUser
	current *scoreboard.TeamMembership // nil: none
	score   int64                      // of the user on the source board
}

// change runs do with the user locked, as every writer does: after the board, before
// anything about the user is read.
func (t *Teams) change(
	ctx context.Context, id scoreboard.BoardID, user scoreboard.UserID, do func(pgx.Tx, *change) error,
) error {
	return t.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `select pg_advisory_xact_lock_shared(hashtextextended($1, 0))`, id)
		if err != nil {
			return err
		}
		board, err := findTeamBoard(ctx, tx, id)
		if err != nil {
			return err
		}
		if board.Status != scoreboard.StatusActive {
			return scoreboard.Errorf(wire.CodeBoardClosed, "board %s is %s", id, board.Status)
		}
		locked, err := pg.LockUser(ctx, tx, user)
		if err != nil {
			return err
		}
		c := &change{board: id, user: *locked}
		c.current, err = findTeam(ctx, tx, `user_id = $1 and board_id = $2 and left_at is null`, user, id)
		if err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `select coalesce((select score from scores where user_id = $1 and board_id = $2), 0)`,
			user, board.Team.Source).Scan(&c.score)
		if err != nil {
			return err
		}
		if err := do(tx, c); err != nil {
			return err
		}
		if locked.Created { // an erasure that waited for the row finds the membership
			_, err = tx.Exec(ctx, `delete from users where user_id = $1`, user)
		}
		return err
	})
}

// findTeamBoard reads a board of teams. It is a not_found for an unknown board, and a
// rule_violated for one of users.
func findTeamBoard(ctx context.Context, q pg.Querier, id scoreboard.BoardID) (*scoreboard.Board, error) {
	board, err := pg.FindBoard(ctx, q, id)
	if err == nil && board.Team == nil {
		err = scoreboard.Errorf(wire.CodeRuleViolated, "board %s ranks users, not teams", id)
	}
	return board, err
}

// join ends the current membership, if there is one, and begins that in a team.
func (c *change) join(ctx context.Context, tx pgx.Tx, team scoreboard.Team) (*scoreboard.TeamMembership, error) {
	var n int
	err := tx.QueryRow(ctx, `select count(*) from team_members where user_id = $1 and board_id = $2`,
		c.user.User, c.board).Scan(&n)
	if err != nil {
		return nil, err
	}
	if n >= scoreboard.MaxUserMemberships {
		return nil, scoreboard.Errorf(wire.CodeConflict,
			"user %s has had %d memberships on board %s, the maximum", c.user.User, n, c.board)
	}
	adds := map[scoreboard.Team]int{team: 1}
	teams := []scoreboard.Team{team}
	if c.current != nil {
		adds[c.current.Team] = -1
		teams = append(teams, c.current.Team)
	}
	slices.Sort(teams) // as every other move locks them
	for _, t := range teams {
		if err := c.count(ctx, tx, t, adds[t]); err != nil {
			return nil, err
		}
	}
	if c.current != nil {
		if _, err := c.leave(ctx, tx); err != nil {
			return nil, err
		}
	}
	rows, err := tx.Query(ctx, `with changed as (insert into team_changes (board_id, team) values ($1, $2))
insert into team_members (board_id, team, user_id, joined_at, joined_score) values ($1, $2, $3, $4, $5)
returning `+membershipColumns, c.board, team, c.user.User, c.user.Time, c.score)
	if err != nil {
		return nil, err
	}
	m, err := pgx.CollectExactlyOneRow(rows, scanMembership)
	return &m, err
}

// leave ends the current membership.
func (c *change) leave(ctx context.Context, tx pgx.Tx) (*scoreboard.TeamMembership, error) {
	rows, err := tx.Query(ctx, `with changed as (insert into team_changes (board_id, team) values ($1, $2))
update team_members set left_at = $4, left_score = $5 where membership_id = $3 returning `+membershipColumns,
		c.board, c.current.Team, c.current.ID, c.user.Time, c.score)
	if err != nil {
		return nil, err
	}
	m, err := pgx.CollectExactlyOneRow(rows, scanMembership)
	return &m, err
}

// count adds to the number of a team's members, and creates the team with its first one.
func (c *change) count(ctx context.Context, tx pgx.Tx, team scoreboard.Team, add int) error {
	var members, memberships int
	err := tx.QueryRow(ctx, `insert into teams as t (board_id, team, members, memberships)
values ($1, $2, greatest($3, 0), greatest($3, 0))
on conflict (board_id, team) do update set members = t.members + $3, memberships = t.memberships + excluded.memberships
returning members, memberships`, c.board, team, add).Scan(&members, &memberships)
	switch {
	case err != nil || add < 0:
		return err
	case members > scoreboard.MaxTeamMembers:
		return scoreboard.Errorf(wire.CodeConflict,
			"team %s has %d members, the maximum", team, scoreboard.MaxTeamMembers)
	case memberships > scoreboard.MaxTeamMemberships:
		return scoreboard.Errorf(wire.CodeConflict,
			"team %s has had %d memberships, the maximum", team, scoreboard.MaxTeamMemberships)
	}
	return nil
}

// List returns up to limit teams of a board, by name, after a name.
func (t *Teams) List(
	ctx context.Context, board scoreboard.BoardID, after scoreboard.Team, limit int,
) ([]scoreboard.TeamSummary, error) {
	if _, err := findTeamBoard(ctx, t.db, board); err != nil {
		return nil, pg.Translate(err)
	}
	rows, err := t.db.Query(ctx, `select team, members, created_at from teams where board_id = $1 and team > $2
order by team limit $3`, board, after, limit)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list teams of board %s: %w", board, err))
	}
	teams, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s scoreboard.TeamSummary, err error) {
		err = row.Scan(&s.Team, &s.Members, &s.Created)
		s.Created = s.Created.UTC()
		return s, err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list teams of board %s: %w", board, err))
	}
	return teams, nil
}

// Members returns up to limit memberships of a team after one of them, oldest first: those
// of members, or with history also those that have ended. It is a not_found for a team that
// never had a member.
func (t *Teams) Members(
	ctx context.Context, board scoreboard.BoardID, team scoreboard.Team, history bool, after int64, limit int,
) ([]scoreboard.TeamMembership, error) {
	if _, err := findTeamBoard(ctx, t.db, board); err != nil {
		return nil, pg.Translate(err)
	}
	var exists bool
	err := t.db.QueryRow(ctx, `select exists (select from teams where board_id = $1 and team = $2)`, board, team).
		Scan(&exists)
	if err == nil && !exists {
		err = scoreboard.Errorf(wire.CodeNotFound, "board %s has no team %s", board, team)
	}
	if err != nil {
		return nil, pg.Translate(err)
	}
	rows, err := t.db.Query(ctx, `select `+membershipColumns+` from team_members
where board_id = $1 and team = $2 and membership_id > $3 and ($4 or left_at is null) order by membership_id limit $5`,
		board, team, after, history, limit)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list members of team %s of board %s: %w", team, board, err))
	}
	members, err := pgx.CollectRows(rows, scanMembership)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list members of team %s of board %s: %w", team, board, err))
	}
	return members, nil
}
