package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// proofs are the action tokens of a batch: what to ask, what was found under the
// locks, and which of them the batch uses.
type proofs struct {
	asked []([16]byte)
	used  map[[16]byte][16]byte // the event that an action token was used for

	uses, events [][16]byte // what to write
}

// Each token belongs to a user whose row is locked.
const (
	sqlUsedTokens = `select u.action_id, u.event_id from unnest($1::uuid[]) as t(id)
cross join lateral (select * from used_action_tokens where action_id = t.id offset 0) as u`

	sqlUseTokens = `insert into used_action_tokens (action_id, event_id) select * from unnest($1::uuid[], $2::uuid[])`
)

func (p *proofs) ask(in *scoreboard.Increment) {
	if in.ActionID != [16]byte{} {
		p.asked = append(p.asked, in.ActionID)
	}
}

func (p *proofs) read(found pgx.Rows) error {
	p.used = make(map[[16]byte][16]byte)
	var id, event [16]byte
	_, err := pgx.ForEachRow(found, []any{&id, &event}, func() error {
		p.used[id] = event
		return nil
	})
	return err
}

// check says token_used where another event has used the token.
func (p *proofs) check(in *scoreboard.Increment) error {
	if _, used := p.used[in.ActionID]; used {
		return &scoreboard.Error{Code: scoreboard.CodeTokenUsed, Field: "action_token", Message: "the action token was used for another event"}
	}
	return nil
}

// use marks the token of an increment that is recorded.
func (p *proofs) use(in *scoreboard.Increment) {
	if in.ActionID == [16]byte{} {
		return
	}
	p.used[in.ActionID] = in.Event.UUID
	p.uses, p.events = append(p.uses, in.ActionID), append(p.events, in.Event.UUID)
}

// ForgetActionTokens deletes at most limit tokens that were used before a time
// and returns how many it has. One that has expired is refused without them; an
// increment that was accepted for later may come with it until its window ends.
func (s *Store) ForgetActionTokens(ctx context.Context, before time.Time, limit int) (int64, error) {
	done, err := s.pool.Exec(ctx, `delete from used_action_tokens where action_id in (
    select action_id from used_action_tokens where used_at < $1 order by used_at limit $2)`, before, limit)
	if err != nil {
		return 0, translate(fmt.Errorf("forget used action tokens: %w", err))
	}
	return done.RowsAffected(), nil
}
