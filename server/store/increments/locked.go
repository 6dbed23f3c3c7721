package increments

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// recordUnlocked records the items of all users except the locked ones, whose
// outcome is scoreboard.ErrUserLocked.
func (s *Increments) recordUnlocked(
	ctx context.Context, batch []scoreboard.Increment, locked map[scoreboard.UserID]bool,
) ([]scoreboard.Outcome, error) {
	if len(locked) == 0 {
		return s.recordOnce(ctx, batch)
	}
	outcomes := make([]scoreboard.Outcome, len(batch))
	rest := make([]scoreboard.Increment, 0, len(batch))
	at := make([]int, 0, len(batch))
	for i := range batch {
		if user := batch[i].User; locked[user] {
			outcomes[i].Err = &scoreboard.Error{
				Code: wire.CodeUnavailable, Message: fmt.Sprintf("user %s is locked", user),
				RetryAfter: pg.RetryAfterOutage, Err: scoreboard.ErrUserLocked,
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

// Takes the free locks and releases them at the end of its transaction.
const sqlProbeUsers = `select t.u, found.u is not null, free.u is not null
from unnest($1::text[]) as t(u)
left join lateral (select user_id as u from users where user_id = t.u offset 0) as found on true
left join lateral (select user_id as u from users where user_id = t.u for no key update skip locked) as free on true`

// findLocked adds the users of the batch that are locked now to locked. A user that
// another transaction is creating is not visible: if a second search finds
// nothing, all users that do not exist yet are added.
func (s *Increments) findLocked(
	ctx context.Context, batch []scoreboard.Increment, locked map[scoreboard.UserID]bool, second bool,
) error {
	users := make(map[string]bool, len(batch))
	for i := range batch {
		if user := batch[i].User; !locked[user] {
			users[string(user)] = true
		}
	}
	var taken, missing []scoreboard.UserID
	var b pgx.Batch
	s.db.QueueBegin(&b)
	b.Queue(sqlProbeUsers, slices.Sorted(maps.Keys(users))).Query(func(rows pgx.Rows) error {
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
	if err := s.db.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("find locked users: %w", err)
	}
	if len(taken) == 0 && second {
		taken = missing
	}
	for _, user := range taken {
		locked[user] = true
	}
	return nil
}
