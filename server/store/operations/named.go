package operations

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// naming is whether a message may name a user when it is stored.
type naming int

const (
	shown naming = iota
	private
	banned
	erased
)

// Neither names of teams nor the anonymous names of erased users are anybody's.
const sqlLockNamed = `select user_id,
    case when erased_as is not null then 3 when status = 'banned' then 2 when private then 1 else 0 end
from users where user_id = any($1) order by user_id for share`

// names are the users whom messages name, none of whom is erased, banned or made private until the transaction ends. An
// erasure that comes later finds the messages.
type names map[scoreboard.UserID]naming

// lockNames locks the rows of users, before a transaction locks anything that an erasure changes, and says what they
// are now. Payloads are made of what was read before, so a caller leaves out what is about users who are absent,
// and begins again if one was erased.
func lockNames(ctx context.Context, tx pgx.Tx, users []scoreboard.UserID) (names, error) {
	rows, err := tx.Query(ctx, sqlLockNamed, users)
	if err != nil {
		return nil, err
	}
	all := make(names, len(users))
	var user scoreboard.UserID
	var n naming
	_, err = pgx.ForEachRow(rows, []any{&user, &n}, func() error {
		all[user] = n
		return nil
	})
	return all, err
}

// erased reports whether one of the users is erased.
func (n names) erased() bool { return n.any(erased) }

// absent reports whether one of the users is on no board.
func (n names) absent() bool { return n.any(private) || n.any(banned) }

func (n names) any(of naming) bool {
	for _, is := range n {
		if is == of {
			return true
		}
	}
	return false
}

// message is what queue stores.
type message struct{ id, payload string }

const sqlQueue = `insert into webhook_deliveries (webhook_id, message_id, type, payload)
select w.webhook_id, m.id, $4, m.payload from webhooks as w, unnest($2::text[], $3::text[]) as m(id, payload)
where w.webhook_id = any ($1) and w.disabled_at is null for key share of w
on conflict do nothing`

// queue inserts deliveries of messages to those of the webhooks that are enabled. It is the only way to store a message
// about users, who are locked.
func queue(
	ctx context.Context, tx pgx.Tx, _ names, t scoreboard.WebhookType, messages []message, webhooks []string,
) error {
	if len(messages) == 0 || len(webhooks) == 0 {
		return nil
	}
	ids, payloads := make([]string, len(messages)), make([]string, len(messages))
	for i, m := range messages {
		ids[i], payloads[i] = m.id, m.payload
	}
	_, err := tx.Exec(ctx, sqlQueue, webhooks, ids, payloads, t)
	return err
}
