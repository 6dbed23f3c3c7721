package boards

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

const (
	// The only row that all joins of a period lock: after the users, just before the end of the transaction.
	sqlLockPlayerCount = `insert into board_player_counts as c (board_id, players) values ($1, 0)
on conflict (board_id) do update set players = c.players returning players`

	sqlAddPlayers = `insert into board_players (board_id, user_id, joined_at)
select $1, user_id, $3 from unnest($2::text[]) as t(user_id)`

	sqlDeleteUsers = `delete from users where user_id = any($1)`
)

// joinTries is how often a single join is tried, and joins together once: if one fails, it may be for a single user.
const joinTries = 5

// Join has a user join a period, of a board the next one that can be joined. Who has joined it stays, also when nobody
// can join it any more. It returns a tournament_full, a join_closed, a board_closed, a forbidden for a user who is
// banned or frozen, a gone for an erased one, and an overloaded if too many wait. A join of an operator, with an audit
// entry, waits for no others.
func (s *Players) Join(
	ctx context.Context, name scoreboard.BoardID, user scoreboard.UserID, why *scoreboard.AuditEntry,
) (p scoreboard.Participation, err error) {
	if why != nil {
		p, err = s.joinAlone(ctx, name, user, (*scoreboard.Board).CheckJoin, why)
	} else {
		p, err = s.queue.join(ctx, name, user, s.joinAll)
	}
	if err != nil {
		return p, pg.Translate(fmt.Errorf("join board %s: %w", name, err))
	}
	return p, nil
}

// joinAlone decides one join, and stores its audit entry.
func (s *Players) joinAlone(
	ctx context.Context, name scoreboard.BoardID, user scoreboard.UserID,
	check func(*scoreboard.Board, time.Time) error, why *scoreboard.AuditEntry,
) (p scoreboard.Participation, err error) {
	err = s.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		j := &join{user: user}
		err := joinTogether(ctx, tx, name, []*join{j}, check)
		if err == nil {
			err = j.err
		}
		if err != nil {
			return err
		}
		p = j.result
		return pg.WriteAudit(ctx, tx, why)
	})
	return p, err
}

// joinAll decides joins of one name in their order, in one transaction unless that fails, as it does if one of the
// users is locked for too long.
func (s *Players) joinAll(ctx context.Context, name scoreboard.BoardID, joins []*join) error {
	tries := 1
	if len(joins) == 1 {
		tries = joinTries
	}
	err := pg.RetryTimes(ctx, tries, func() error {
		return s.db.InOneLimitedTx(ctx, func(tx pgx.Tx) error {
			return joinTogether(ctx, tx, name, joins, (*scoreboard.Board).CheckJoin)
		})
	})
	if err == nil || len(joins) == 1 || !pg.Retryable(err) {
		return err
	}
	half := len(joins) / 2
	for _, part := range [][]*join{joins[:half], joins[half:]} {
		if err := s.joinAll(ctx, name, part); err != nil {
			for _, j := range part {
				j.err = err
			}
		}
	}
	return nil
}

// joinTogether decides joins of a period that check allows. Its error is that of all of them.
func joinTogether(
	ctx context.Context, tx pgx.Tx, name scoreboard.BoardID, joins []*join,
	check func(*scoreboard.Board, time.Time) error,
) error {
	found, err := findPeriods(ctx, tx, name)
	if err != nil {
		return err
	}
	b, closed := found.first(check)
	users := usersOfJoins(joins)
	var locked map[scoreboard.UserID]ledger.LockedUser
	if closed == nil { // else nobody is added, so no user has to be locked, which creates missing ones
		if locked, err = lockPlayers(ctx, tx, users); err != nil {
			return err
		}
		if found, err = findPeriods(ctx, tx, name); err != nil {
			return err
		}
		b, closed = found.first(check)
	}
	if b == nil || !b.Join.Required {
		return closed
	}
	count := playerCount
	if closed == nil {
		count = lockPlayerCount
	}
	players, err := count(ctx, tx, b.ID)
	if err != nil {
		return err
	}
	joined, err := joinedUsers(ctx, tx, b.ID, users)
	if err != nil {
		return err
	}
	var added []scoreboard.UserID
	for _, j := range joins {
		j.err = nil
		if _, is := joined[j.user]; !is {
			if j.err = mayJoin(b, locked[j.user], closed, players); j.err != nil {
				continue
			}
			joined[j.user] = found.now.UTC()
			added = append(added, j.user)
			players++
		}
		j.result = scoreboard.Participation{Board: b, User: j.user, Joined: joined[j.user]}
	}
	for _, j := range joins {
		j.result.Players = players
	}
	return addPlayers(ctx, tx, b.ID, added, found.now, unusedUsers(locked, joined))
}

// mayJoin returns why a user cannot join a period that has so many players.
func mayJoin(b *scoreboard.Board, user ledger.LockedUser, closed error, players int64) error {
	switch {
	case closed != nil:
		return closed
	case user.Status == scoreboard.UserErased:
		return pg.ErasedUser(user.User)
	case user.Status != scoreboard.UserActive:
		return scoreboard.Errorf(wire.CodeForbidden, "user %s is %s", user.User, user.Status)
	case b.Join.MaxPlayers > 0 && players >= b.Join.MaxPlayers:
		return scoreboard.Errorf(wire.CodeTournamentFull, "%s is full: it takes %d players", b.ID, b.Join.MaxPlayers)
	}
	return nil
}

func lockPlayerCount(ctx context.Context, tx pgx.Tx, board scoreboard.BoardID) (players int64, err error) {
	err = tx.QueryRow(ctx, sqlLockPlayerCount, board).Scan(&players)
	return players, err
}

func usersOfJoins(joins []*join) []scoreboard.UserID {
	seen := make(map[scoreboard.UserID]bool, len(joins))
	users := make([]scoreboard.UserID, 0, len(joins))
	for _, j := range joins {
		if !seen[j.user] {
			seen[j.user] = true
			users = append(users, j.user)
		}
	}
	return users
}

func lockPlayers(
	ctx context.Context, tx pgx.Tx, users []scoreboard.UserID,
) (map[scoreboard.UserID]ledger.LockedUser, error) {
	rows, err := pg.LockUsers(ctx, tx, users)
	locked := make(map[scoreboard.UserID]ledger.LockedUser, len(rows))
	for _, u := range rows {
		locked[u.User] = u
	}
	return locked, err
}

// unusedUsers are the users that the transaction has created, and who have not joined: a rejected join leaves no row.
func unusedUsers(
	locked map[scoreboard.UserID]ledger.LockedUser, joined map[scoreboard.UserID]time.Time,
) (unused []scoreboard.UserID) {
	for user, u := range locked {
		if _, is := joined[user]; u.Created && !is {
			unused = append(unused, user)
		}
	}
	return unused
}

func addPlayers(
	ctx context.Context, tx pgx.Tx, board scoreboard.BoardID, users []scoreboard.UserID, at time.Time,
	unused []scoreboard.UserID,
) error {
	var q pgx.Batch
	if len(users) > 0 {
		q.Queue(sqlAddPlayers, board, users, at)
		q.Queue(sqlCountPlayers, board, len(users))
	}
	if len(unused) > 0 {
		q.Queue(sqlDeleteUsers, unused)
	}
	if q.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, &q).Close()
}
