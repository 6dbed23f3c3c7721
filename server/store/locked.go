package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// errUsersLocked marks a batch that waited too long for the row of a user.
var errUsersLocked = errors.New("a user is locked by another transaction")

// recordWithout records the items of all users but the locked ones, whose
// outcome says so.
func (s *Store) recordWithout(ctx context.Context, batch []scoreboard.Increment, locked map[scoreboard.UserID]bool) ([]scoreboard.Outcome, error) {
	if len(locked) == 0 {
		return s.recordOnce(ctx, batch)
	}
	outcomes := make([]scoreboard.Outcome, len(batch))
	rest := make([]scoreboard.Increment, 0, len(batch))
	at := make([]int, 0, len(batch))
	for i := range batch {
		if user := batch[i].User; locked[user] {
			outcomes[i].Err = &scoreboard.Error{
				Code: scoreboard.CodeUnavailable, Message: fmt.Sprintf("user %s is locked", user),
				RetryAfter: retryAfterOutage, Err: scoreboard.ErrUserLocked,
			}
			continue
		}
		rest = append(rest, batch[i])
		at = append(at, i)
	}
	if len(rest) == 0 {
		return outcomes, nil
	}
	recorded, err := s.recordOnce(ctx, rest)
	if err != nil {
		return nil, err
	}
	for i, o := range recorded {
		outcomes[at[i]] = o
	}
	return outcomes, nil
}

// Takes the locks that it can get, and gives them back with its transaction.
const sqlProbeUsers = `select t.u, found.u is not null, free.u is not null
from unnest($1::text[]) as t(u)
left join lateral (select user_id as u from users where user_id = t.u offset 0) as found on true
left join lateral (select user_id as u from users where user_id = t.u for no key update skip locked) as free on true`

// addLocked adds to locked who of the batch is locked now. A user that another
// transaction is just creating cannot be seen; so where a second look finds
// nobody, all that do not exist yet are added.
func (s *Store) addLocked(ctx context.Context, batch []scoreboard.Increment, locked map[scoreboard.UserID]bool, second bool) error {
	users := make(map[scoreboard.UserID]bool, len(batch))
	for i := range batch {
		if user := batch[i].User; !locked[user] {
			users[user] = true
		}
	}
	var taken, missing []scoreboard.UserID
	var b pgx.Batch
	b.Queue(sqlBegin)
	b.Queue(sqlSettings, milliseconds(s.o.LockWait), milliseconds(s.o.Timeout))
	b.Queue(sqlProbeUsers, sortedKeys(users)).Query(func(rows pgx.Rows) error {
		var user scoreboard.UserID
		var found, free bool
		_, err := pgx.ForEachRow(rows, []any{&user, &found, &free}, func() error {
			switch {
			case !found:
				missing = append(missing, user)
			case !free:
				taken = append(taken, user)
			}
			return nil
		})
		return err
	})
	b.Queue("rollback")
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("look for locked users: %w", err)
	}
	if len(taken) == 0 && second {
		taken = missing
	}
	for _, user := range taken {
		locked[user] = true
	}
	return nil
}
