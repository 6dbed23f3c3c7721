package corrections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Bounds of one transaction of a void, because others wait for its users.
const (
	voidUsers  = 100
	voidEvents = 500
)

// ClaimVoid claims the oldest void that has work left and is not claimed, for a
// time; nil if there is none.
func (c *Corrections) ClaimVoid(ctx context.Context, life time.Duration) (*scoreboard.Void, error) {
	v, err := scanVoid(c.db.QueryRow(ctx, `update voids set lease_until = clock_timestamp() + $1::interval
where id = (select id from voids where state in ('listing', 'reversing', 'undoing')
        and lease_until not between clock_timestamp() and clock_timestamp() + 10 * $1::interval
    order by id limit 1 for update skip locked)
returning `+voidColumns, life))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no work is not an error
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("claim a void: %w", err))
	}
	return v, nil
}

// ReleaseVoid releases a claimed void.
func (c *Corrections) ReleaseVoid(ctx context.Context, id int64) error {
	if _, err := c.db.Exec(ctx, `update voids set lease_until = '-infinity' where id = $1`, id); err != nil {
		return pg.Translate(fmt.Errorf("release void %d: %w", id, err))
	}
	return nil
}

// StepVoid runs one transaction of a void and extends its claim by life. It
// reports whether there is more to do.
func (c *Corrections) StepVoid(ctx context.Context, v *scoreboard.Void, life time.Duration) (more bool, err error) {
	if v.State == scoreboard.VoidListing {
		err = c.listVoid(ctx, v, life)
	} else {
		more, err = c.correctSome(ctx, v, life)
	}
	if err != nil {
		return false, pg.Translate(fmt.Errorf("run void %d: %w", v.ID, err))
	}
	return more || v.State == scoreboard.VoidReversing && v.Done.IsZero(), nil
}

// listVoid lists the void's events. Reading does not delay the outbox, so it uses
// one snapshot; the list is written in chunks. An interrupted listing starts over.
func (c *Corrections) listVoid(ctx context.Context, v *scoreboard.Void, life time.Duration) error {
	// A row's time lies between the beginning and the commit of its transaction, so
	// earlier transactions could still add rows of the period.
	var early bool
	err := c.db.QueryRow(ctx, `select exists (select from pg_stat_activity
where datname = current_database() and backend_xid is not null and xact_start < $1)`, v.Sender.To).Scan(&early)
	if err != nil || early {
		return err
	}
	err = pgx.BeginTxFunc(ctx, c.db, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `declare sent no scroll cursor for select distinct user_id, event_id `+sqlSent,
			v.Sender.From, v.Sender.To, v.Sender.KeyID, v.Sender.Address)
		if err != nil {
			return err
		}
		for {
			rows, err := tx.Query(ctx, `fetch 5000 from sent`)
			if err != nil {
				return err
			}
			var users []string
			var events [][16]byte
			var user string
			var event [16]byte
			if _, err := pgx.ForEachRow(rows, []any{&user, &event}, func() error {
				users, events = append(users, user), append(events, event)
				return nil
			}); err != nil || len(users) == 0 {
				return err
			}
			if _, err := c.db.Exec(
				ctx,
				`with kept as (update voids set lease_until = clock_timestamp() + $4::interval where id = $1)
insert into void_events (void_id, user_id, event_id) select $1, u, e from unnest($2::text[], $3::uuid[]) as t(u, e)
on conflict do nothing`,
				v.ID,
				users,
				events,
				life,
			); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return err
	}
	v.State = scoreboard.VoidReversing
	_, err = c.db.Exec(ctx, `update voids set state = 'reversing' where id = $1`, v.ID)
	return err
}

// correctSome reverses or restores the next events of a void.
func (c *Corrections) correctSome(ctx context.Context, v *scoreboard.Void, life time.Duration) (more bool, err error) {
	from, to, end := "todo", "reversed", scoreboard.VoidDone
	if v.State == scoreboard.VoidUndoing {
		from, to, end = "reversed", "undone", scoreboard.VoidUndone
	}
	users, events, err := c.nextOfVoid(ctx, v.ID, from)
	if err != nil {
		return false, err
	}
	if len(users) == 0 {
		v.State = end
		v.Done = time.Now()
		_, err := c.db.Exec(
			ctx,
			`update voids set state = $2, done_at = coalesce(done_at, clock_timestamp()), lease_until = '-infinity'
where id = $1`,
			v.ID,
			end,
		)
		return false, err
	}
	found, err := c.findEvents(ctx, users, events)
	if err != nil {
		return false, err
	}
	if err := c.skipMissing(ctx, v.ID, from, users, events, found); err != nil {
		return false, err
	}
	if len(found) > 0 {
		how := correction{Correction: ledger.Correction{Undo: v.State == scoreboard.VoidUndoing, Void: &v.ID}}
		how.also = func(
			ctx context.Context, conn *pgxpool.Conn, events []ledger.Event, outcomes []scoreboard.Outcome,
		) error {
			return c.markVoided(ctx, conn, v.ID, from, to, events, outcomes)
		}
		if _, err := c.correct(ctx, how, found); err != nil {
			return false, err
		}
	}
	_, err = c.db.Exec(ctx, `update voids set lease_until = clock_timestamp() + $2::interval where id = $1`, v.ID, life)
	return true, err
}

func (c *Corrections) nextOfVoid(
	ctx context.Context,
	id int64,
	state string,
) (users []string, events [][16]byte, err error) {
	rows, err := c.db.Query(ctx, `select user_id, event_id from void_events where void_id = $1 and state = $2
order by user_id, event_id limit $3`, id, state, voidEvents)
	if err != nil {
		return nil, nil, err
	}
	var user, last string
	var event [16]byte
	distinct := 0
	_, err = pgx.ForEachRow(rows, []any{&user, &event}, func() error {
		if user != last {
			distinct, last = distinct+1, user
		}
		if distinct <= voidUsers {
			users, events = append(users, user), append(events, event)
		}
		return nil
	})
	return users, events, err
}

// skipMissing marks events that are no longer in the ledger as skipped.
func (c *Corrections) skipMissing(
	ctx context.Context,
	id int64,
	from string,
	users []string,
	events [][16]byte,
	found []ledger.Event,
) error {
	there := make(map[ledger.EventKey]bool, len(found))
	for i := range found {
		there[found[i].Key()] = true
	}
	var missing []ledger.Event
	var outcomes []scoreboard.Outcome
	for i := range users {
		if k := (ledger.EventKey{User: scoreboard.UserID(users[i]), Event: events[i]}); !there[k] {
			missing = append(missing, ledger.Event{User: k.User, ID: k.Event})
			outcomes = append(
				outcomes,
				scoreboard.Outcome{Err: scoreboard.Errorf(scoreboard.CodeGone, "no longer in the ledger")},
			)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return c.markVoided(ctx, c.db, id, from, "", missing, outcomes)
}

// markVoided stores the result of events in the state from: the corrected ones
// move to the state to, the others are skipped. If it is repeated after a lost
// connection, it finds none.
func (c *Corrections) markVoided(
	ctx context.Context,
	on pg.Querier,
	id int64,
	from, to string,
	events []ledger.Event,
	outcomes []scoreboard.Outcome,
) error {
	users, ids := make([]string, len(events)), make([][16]byte, len(events))
	states, notes := make([]string, len(events)), make([]*string, len(events))
	for i := range events {
		users[i], ids[i], states[i] = string(events[i].User), events[i].ID, to
		var note string
		var e *scoreboard.Error
		switch err := outcomes[i].Err; {
		case errors.As(err, &e):
			note = e.Message
		case err != nil:
			note = err.Error()
		case outcomes[i].Receipts[0].Replayed:
			note = "already reversed"
		default:
			continue
		}
		states[i], notes[i] = "skipped", &note
	}
	_, err := on.Exec(ctx, `update void_events as v set state = t.s, note = t.n
from unnest($2::text[], $3::uuid[], $4::text[], $5::text[]) as t(u, e, s, n)
where v.void_id = $1 and v.user_id = t.u and v.event_id = t.e and v.state = $6`, id, users, ids, states, notes, from)
	return err
}

// DeleteOldVoidEvents deletes the events of voids that can no longer be undone.
func (c *Corrections) DeleteOldVoidEvents(ctx context.Context) error {
	_, err := c.db.Exec(ctx, `delete from void_events using voids
where voids.id = void_id and (voids.state = 'undone' or voids.state = 'done')
    and done_at + $1::interval < clock_timestamp()`, scoreboard.UndoTime)
	if err != nil {
		return pg.Translate(fmt.Errorf("delete old voids: %w", err))
	}
	return nil
}
