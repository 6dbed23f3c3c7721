package boards

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Players stores who has joined the periods of boards that require it.
type Players struct {
	db    *pg.DB
	queue *joinQueue
}

// NewPlayers returns a Players over db.
func NewPlayers(db *pg.DB) *Players { return &Players{db, newJoinQueue()} }

const (
	// A board, and the period that is named or those that have not ended.
	sqlPeriods = `select clock_timestamp(), ` + pg.BoardColumns + ` from boards where board_id in ($1, $2)
union all (select clock_timestamp(), ` + pg.BoardColumns + ` from boards
    where $1 = $2 and family_id = $1 and board_id <> $1 and closed_at is null and period_end > clock_timestamp()
    order by period_end limit 16)`

	sqlPlayerCount = `select players from board_player_counts where board_id = $1`

	sqlCountPlayers = `update board_player_counts set players = players + $2 where board_id = $1 returning players`

	sqlJoined = `select user_id, joined_at from board_players where board_id = $1 and user_id = any($2)`

	// An increment that has locked the row sees the players as they are.
	sqlLockPlayer = `select 1 from users where user_id = $1 for no key update`

	sqlRemovePlayer = `delete from board_players where board_id = $1 and user_id = $2`

	sqlPlayers = `select user_id, joined_at from board_players where board_id = $1 and user_id > $2
order by user_id limit $3`
)

// periods are what a name may mean for a join or a leave.
type periods struct {
	name   scoreboard.BoardID
	board  *scoreboard.Board   // that has periods
	listed []*scoreboard.Board // the one that is named, or those that have not ended, the earliest first
	now    time.Time           // the database's
}

func findPeriods(ctx context.Context, q pg.Querier, name scoreboard.BoardID) (*periods, error) {
	p := &periods{name: name}
	rows, err := q.Query(ctx, sqlPeriods, name.Family(), name)
	if err != nil {
		return nil, err
	}
	err = pg.ForEach(rows, func() error {
		b, err := pg.ScanBoard(rows, &p.now)
		if b.ID == name.Family() {
			p.board = &b
		} else {
			p.listed = append(p.listed, &b)
		}
		return err
	})
	if err == nil && (p.board == nil || name.IsInstance() && len(p.listed) == 0) {
		err = scoreboard.Errorf(wire.CodeNotFound, "board %s not found", name)
	}
	return p, err
}

// first returns the period that is named, with why check does not allow it; or of a board the first one that check
// allows. Without one, it returns why alone.
func (p *periods) first(check func(*scoreboard.Board, time.Time) error) (*scoreboard.Board, error) {
	switch {
	case p.board.Status != scoreboard.StatusActive:
		return nil, scoreboard.Errorf(wire.CodeBoardClosed, "board %s is %s", p.board.ID, p.board.Status)
	case p.name.IsInstance():
		return p.listed[0], check(p.listed[0], p.now)
	case !p.board.Join.Required && len(p.listed) == 0:
		return nil, check(p.board, p.now)
	}
	var why error
	for _, b := range p.listed {
		err := check(b, p.now)
		if err == nil {
			return b, nil
		}
		if why == nil {
			why = err
		}
	}
	if p.board.Join.Required && (why == nil || wire.CodeOf(why) != wire.CodeBoardClosed) {
		why = scoreboard.Errorf(wire.CodeJoinClosed, "board %s has no period that takes players now", p.board.ID)
	}
	return nil, why
}

// Participation returns the state of a period, for a user unless that is "". Of a board, it is the period that a join
// means, else the earliest that has not ended.
func (s *Players) Participation(
	ctx context.Context, name scoreboard.BoardID, user scoreboard.UserID,
) (p scoreboard.Participation, err error) {
	err = pgx.BeginTxFunc(ctx, s.db, pg.Snapshot, func(tx pgx.Tx) error {
		found, err := findPeriods(ctx, tx, name)
		if err != nil {
			return err
		}
		b, err := found.first((*scoreboard.Board).CheckJoin)
		if b == nil {
			b = found.current()
		}
		if b == nil {
			return err
		}
		p, err = participation(ctx, tx, b, user)
		return err
	})
	if err != nil {
		return p, pg.Translate(fmt.Errorf("read who has joined board %s: %w", name, err))
	}
	return p, nil
}

// current returns the earliest period that users join, whether they can do so now or not; nil for none.
func (p *periods) current() *scoreboard.Board {
	for _, b := range p.listed {
		if b.Join.Required {
			return b
		}
	}
	return nil
}

func participation(
	ctx context.Context, tx pgx.Tx, b *scoreboard.Board, user scoreboard.UserID,
) (p scoreboard.Participation, err error) {
	if !b.Join.Required {
		return p, b.CheckJoin(b.PeriodStart)
	}
	p.Board, p.User = b, user
	if p.Players, err = playerCount(ctx, tx, b.ID); err != nil || user == "" {
		return p, err
	}
	joined, err := joinedUsers(ctx, tx, b.ID, []scoreboard.UserID{user})
	p.Joined = joined[user]
	return p, err
}

func playerCount(ctx context.Context, tx pgx.Tx, board scoreboard.BoardID) (players int64, err error) {
	err = tx.QueryRow(ctx, sqlPlayerCount, board).Scan(&players)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return players, err
}

// joinedUsers returns those of users who have joined a period, and when.
func joinedUsers(
	ctx context.Context, tx pgx.Tx, board scoreboard.BoardID, users []scoreboard.UserID,
) (map[scoreboard.UserID]time.Time, error) {
	rows, err := tx.Query(ctx, sqlJoined, board, users)
	if err != nil {
		return nil, err
	}
	joined := make(map[scoreboard.UserID]time.Time, len(users))
	var user scoreboard.UserID
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&user, &at}, func() error {
		joined[user] = at.UTC()
		return nil
	})
	return joined, err
}

// Leave has a user leave a period before it begins, of a board the next one. Who has not joined it has left. It returns
// a join_closed if it has begun.
func (s *Players) Leave(
	ctx context.Context, name scoreboard.BoardID, user scoreboard.UserID, why *scoreboard.AuditEntry,
) (p scoreboard.Participation, err error) {
	err = s.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockPlayer, user); err != nil {
			return err
		}
		found, err := findPeriods(ctx, tx, name)
		if err != nil {
			return err
		}
		b, err := found.first((*scoreboard.Board).CheckLeave)
		if err != nil {
			return err
		}
		if _, err := removePlayer(ctx, tx, b.ID, user); err != nil {
			return err
		}
		if p, err = participation(ctx, tx, b, user); err != nil {
			return err
		}
		return pg.WriteAudit(ctx, tx, why)
	})
	if err != nil {
		return p, pg.Translate(fmt.Errorf("leave board %s: %w", name, err))
	}
	return p, nil
}

func removePlayer(
	ctx context.Context, tx pgx.Tx, board scoreboard.BoardID, user scoreboard.UserID,
) (removed bool, err error) {
	done, err := tx.Exec(ctx, sqlRemovePlayer, board, user)
	if err == nil && done.RowsAffected() > 0 {
		removed = true
		_, err = tx.Exec(ctx, sqlCountPlayers, board, -1)
	}
	return removed, err
}

// List lists at most limit players of a period, by user, after a user.
func (s *Players) List(
	ctx context.Context, board scoreboard.BoardID, after scoreboard.UserID, limit int,
) ([]scoreboard.Player, error) {
	var players []scoreboard.Player
	var b pgx.Batch // a transaction of its own
	b.Queue(pg.PlanByIndex)
	b.Queue(sqlPlayers, board, after, limit).Query(func(rows pgx.Rows) (err error) {
		players, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p scoreboard.Player, err error) {
			err = row.Scan(&p.User, &p.Joined)
			p.Joined = p.Joined.UTC()
			return p, err
		})
		return err
	})
	err := s.db.SendBatch(ctx, &b).Close()
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list the players of board %s: %w", board, err))
	}
	return players, nil
}

// Add adds a user to a period that has not ended, whether it has begun or not. It returns a tournament_full, and what
// Join returns for users who cannot.
func (s *Players) Add(
	ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID, why *scoreboard.AuditEntry,
) (p scoreboard.Participation, err error) {
	p, err = s.joinAlone(ctx, board, user, (*scoreboard.Board).CheckLateJoin, why)
	if err != nil {
		return p, pg.Translate(fmt.Errorf("add %s to board %s: %w", user, board, err))
	}
	return p, nil
}

// Remove removes a player from a period, whether it has begun or not; what the user has scored stays. It returns a
// not_found if the user has not joined it.
func (s *Players) Remove(
	ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID, why *scoreboard.AuditEntry,
) (p scoreboard.Participation, err error) {
	err = s.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockPlayer, user); err != nil {
			return err
		}
		removed, err := removePlayer(ctx, tx, board, user)
		if err == nil && !removed {
			err = scoreboard.Errorf(wire.CodeNotFound, "user %s has not joined %s", user, board)
		}
		if err != nil {
			return err
		}
		b, err := pg.FindBoard(ctx, tx, board)
		if err != nil {
			return err
		}
		if p, err = participation(ctx, tx, b, user); err != nil {
			return err
		}
		return pg.WriteAudit(ctx, tx, why)
	})
	if err != nil {
		return p, pg.Translate(fmt.Errorf("remove %s from board %s: %w", user, board, err))
	}
	return p, nil
}
