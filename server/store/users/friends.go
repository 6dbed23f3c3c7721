package users

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Friends is the friends table.
type Friends struct{ db *pg.DB }

// NewFriends returns a Friends over db.
func NewFriends(db *pg.DB) *Friends { return &Friends{db} }

// Ask stores that user asks other to be a friend, or accepts the request of other. It is
// forbidden to banned and frozen users; a conflict says that user has no room for more. A
// request to an erased user is stored like one to a name that nobody has, so that no answer
// tells the two apart.
func (f *Friends) Ask(ctx context.Context, user, other scoreboard.UserID) (friend scoreboard.Friend, err error) {
	err = f.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		locked, err := pg.LockUsers(ctx, tx, []scoreboard.UserID{user, other})
		if err != nil {
			return err
		}
		for _, u := range locked {
			switch {
			case u.User != user || u.Status == scoreboard.UserActive:
			case u.Status == scoreboard.UserErased:
				return pg.ErasedUser(user)
			default:
				return scoreboard.Errorf(wire.CodeForbidden, "user %s is %s", user, u.Status)
			}
		}
		if _, err := add(ctx, tx, []edge{{user, other}}); err != nil {
			return err
		}
		if err := forgetCreated(ctx, tx, locked); err != nil {
			return err
		}
		friend, err = find(ctx, tx, user, other)
		return err
	})
	if err != nil {
		return friend, pg.Translate(fmt.Errorf("store a friend of %s: %w", user, err))
	}
	return friend, nil
}

// Remove ends a friendship, takes back a request or declines one; none of them is needed.
func (f *Friends) Remove(ctx context.Context, user, other scoreboard.UserID) error {
	err := f.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `delete from friends
where (user_id, friend_user_id) in (($1, $2), ($2, $1))`, user, other)
		return err
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("remove a friend of %s: %w", user, err))
	}
	return nil
}

// Import makes the users of each pair friends, all or none, and returns how many pairs were
// not friends before. It is gone for an erased user. A change writes why, unless that is nil.
func (f *Friends) Import(
	ctx context.Context, pairs [][2]scoreboard.UserID, why *scoreboard.AuditEntry,
) (made int, err error) {
	edges := make([]edge, 0, 2*len(pairs))
	var users []scoreboard.UserID
	seen := make(map[scoreboard.UserID]bool, 2*len(pairs))
	for _, p := range pairs {
		edges = append(edges, edge{p[0], p[1]}, edge{p[1], p[0]})
		for _, user := range p {
			if !seen[user] {
				seen[user] = true
				users = append(users, user)
			}
		}
	}
	err = f.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		locked, err := pg.LockUsers(ctx, tx, users)
		if err != nil {
			return err
		}
		for _, u := range locked {
			if u.Status == scoreboard.UserErased {
				return pg.ErasedUser(u.User)
			}
		}
		added, err := add(ctx, tx, edges)
		if err != nil {
			return err
		}
		complete := make(map[edge]bool, len(added)) // in one order of each pair
		for _, e := range added {
			complete[edge{min(e.user, e.other), max(e.user, e.other)}] = true
		}
		made = len(complete)
		if made > 0 {
			if err := pg.WriteAudit(ctx, tx, why); err != nil {
				return err
			}
		}
		return forgetCreated(ctx, tx, locked)
	})
	if err != nil {
		return 0, pg.Translate(fmt.Errorf("import %d friendships: %w", len(pairs), err))
	}
	return made, nil
}

// edge is a row: user has asked other, or has accepted.
type edge struct{ user, other scoreboard.UserID }

// add inserts edges, whose users are locked, and returns those that are new. No user may
// then have too many.
func add(ctx context.Context, tx pgx.Tx, edges []edge) ([]edge, error) {
	users, others := make([]scoreboard.UserID, len(edges)), make([]scoreboard.UserID, len(edges))
	for i, e := range edges {
		users[i], others[i] = e.user, e.other
	}
	rows, err := tx.Query(ctx, `insert into friends (user_id, friend_user_id)
select * from unnest($1::text[], $2::text[]) on conflict do nothing returning user_id, friend_user_id`, users, others)
	if err != nil {
		return nil, err
	}
	added, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e edge, err error) {
		err = row.Scan(&e.user, &e.other)
		return e, err
	})
	if err != nil || len(added) == 0 {
		return nil, err
	}
	var full scoreboard.UserID
	err = tx.QueryRow(ctx, `select user_id from friends where user_id = any($1) group by user_id having count(*) > $2
limit 1`, users, scoreboard.MaxFriends).Scan(&full)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return added, nil
	case err != nil:
		return nil, err
	}
	return nil, scoreboard.Errorf(wire.CodeConflict,
		"user %s has %d friends and sent requests, the maximum; remove one first", full, scoreboard.MaxFriends)
}

// forgetCreated deletes the rows of users that this transaction made only to lock them. An
// erasure that waited for one finds the rows of friends.
func forgetCreated(ctx context.Context, tx pgx.Tx, locked []ledger.LockedUser) error {
	var created []scoreboard.UserID
	for _, u := range locked {
		if u.Created {
			created = append(created, u.User)
		}
	}
	if created == nil {
		return nil
	}
	_, err := tx.Exec(ctx, `delete from users where user_id = any($1)`, created)
	return err
}

func find(ctx context.Context, q pg.Querier, user, other scoreboard.UserID) (scoreboard.Friend, error) {
	friend := scoreboard.Friend{User: other, State: scoreboard.FriendRequested}
	var accepted *time.Time
	err := q.QueryRow(ctx, `select m.created_at, t.created_at from friends m left join friends t
    on t.user_id = m.friend_user_id and t.friend_user_id = m.user_id
where m.user_id = $1 and m.friend_user_id = $2`, user, other).Scan(&friend.Since, &accepted)
	if accepted != nil {
		friend.State = scoreboard.FriendMutual
		if accepted.After(friend.Since) {
			friend.Since = *accepted
		}
	}
	friend.Since = friend.Since.UTC()
	return friend, err
}

// What each list reads: user, and since when, of those after a name. Of a user's own rows
// there are at most MaxFriends, of requests received as many as others have sent.
var sqlLists = map[scoreboard.FriendState]string{
	scoreboard.FriendMutual: `select m.friend_user_id, greatest(m.created_at, t.created_at) from friends m
join friends t on t.user_id = m.friend_user_id and t.friend_user_id = m.user_id
where m.user_id = $1 and m.friend_user_id > $2 order by 1 limit $3`,
	scoreboard.FriendRequested: `select m.friend_user_id, m.created_at from friends m
where m.user_id = $1 and m.friend_user_id > $2 and not exists (select from friends t
    where t.user_id = m.friend_user_id and t.friend_user_id = m.user_id) order by 1 limit $3`,
	scoreboard.FriendReceived: `select t.user_id, t.created_at from friends t
where t.friend_user_id = $1 and t.user_id > $2 and not exists (select from friends m
    where m.user_id = $1 and m.friend_user_id = t.user_id) order by 1 limit $3`,
}

// Mutual returns which of others are friends of user.
func (f *Friends) Mutual(
	ctx context.Context, user scoreboard.UserID, others []scoreboard.UserID,
) ([]scoreboard.UserID, error) {
	const sql = `select o from unnest($2::text[]) as t(o)
where exists (select from friends where user_id = $1 and friend_user_id = o)
    and exists (select from friends where user_id = o and friend_user_id = $1)`
	rows, err := f.db.Query(ctx, sql, user, others)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("look for friends of %s: %w", user, err))
	}
	mutual, err := pgx.CollectRows(rows, pgx.RowTo[scoreboard.UserID])
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("look for friends of %s: %w", user, err))
	}
	return mutual, nil
}

// Asked returns which of others user has asked to be friends, or whose requests user has accepted.
func (f *Friends) Asked(
	ctx context.Context, user scoreboard.UserID, others []scoreboard.UserID,
) ([]scoreboard.UserID, error) {
	rows, err := f.db.Query(ctx, `select friend_user_id from friends
where user_id = $1 and friend_user_id = any($2)`, user, others)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("look for requests of %s: %w", user, err))
	}
	asked, err := pgx.CollectRows(rows, pgx.RowTo[scoreboard.UserID])
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("look for requests of %s: %w", user, err))
	}
	return asked, nil
}

// List returns up to limit users that are to user what state says, by name, after a name.
func (f *Friends) List(
	ctx context.Context, user scoreboard.UserID, state scoreboard.FriendState, after scoreboard.UserID, limit int,
) ([]scoreboard.Friend, error) {
	var list []scoreboard.Friend
	var b pgx.Batch // a transaction of its own
	b.Queue(pg.PlanByIndex)
	b.Queue(sqlLists[state], user, after, limit).Query(func(rows pgx.Rows) (err error) {
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (scoreboard.Friend, error) {
			friend := scoreboard.Friend{State: state}
			err := row.Scan(&friend.User, &friend.Since)
			friend.Since = friend.Since.UTC()
			return friend, err
		})
		return err
	})
	if err := f.db.SendBatch(ctx, &b).Close(); err != nil {
		return nil, pg.Translate(fmt.Errorf("list friends of %s: %w", user, err))
	}
	return list, nil
}
