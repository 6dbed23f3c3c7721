package corrections

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/ledgertx"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Bounds of one transaction of a void, because others wait for its users.
const (
	voidUsers  = 100
	voidEvents = 500
)

// A void that failed waits this long before it is tried again, twice as long each
// time, up to maxWait. So does an event.
const (
	minWait = time.Second
	maxWait = time.Minute
)

// maxAttempts is how often an event is tried that fails although the database works and
// nobody holds a lock on it: about four minutes. Then it is skipped.
const maxAttempts = 8

// wait is the pause after a number of failures in a row.
func wait(attempts int) time.Duration { return min(minWait<<min(attempts-1, 10), maxWait) }

// ClaimVoid claims a void that has work to do now and is not claimed, for a time; nil if
// there is none. The one that has waited longest comes first, so that none holds up
// another.
func (c *Corrections) ClaimVoid(ctx context.Context, ttl time.Duration) (*scoreboard.Void, error) {
	v, err := scanVoid(c.db.QueryRow(ctx, `update voids set lease_until = clock_timestamp() + $1::interval
where id = (select id from voids where state in ('listing', 'reversing', 'undoing')
        and lease_until not between clock_timestamp() and clock_timestamp() + 10 * $1::interval
        and next_at not between clock_timestamp() and clock_timestamp() + 2 * $2::interval
    order by next_at, id limit 1 for update skip locked)
returning `+voidColumns, ttl, maxWait))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no work is not an error
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("claim a void: %w", err))
	}
	v.Problem = "" // unless it has one again
	return v, nil
}

// ReleaseVoid releases a claimed void and stores how its run ended: with a failure, it
// waits before it is claimed again. Otherwise others that have work to do come first.
func (c *Corrections) ReleaseVoid(ctx context.Context, v *scoreboard.Void, failure error) error {
	attempts, next := 0, time.Duration(0)
	switch {
	case failure != nil:
		attempts = v.Attempts + 1
		v.Problem, next = describe(failure), wait(attempts)
	case v.Problem != "":
		next = minWait
	case v.Wait > 0:
		next = v.Wait
	}
	_, err := c.db.Exec(ctx, `update voids set lease_until = '-infinity', attempts = $2, problem = nullif($3, ''),
    next_at = clock_timestamp() + $4::interval where id = $1`, v.ID, attempts, v.Problem, next)
	if err != nil {
		return pg.Translate(fmt.Errorf("release void %d: %w", v.ID, err))
	}
	return nil
}

// StepVoid runs one transaction of a void, or more if one fails, and extends its claim
// by ttl. It reports whether there is more to do now. An error means that the database
// does not work; the failure of an event is stored with the event.
func (c *Corrections) StepVoid(ctx context.Context, v *scoreboard.Void, ttl time.Duration) (more bool, err error) {
	if v.State == scoreboard.VoidListing {
		more, err = c.listVoid(ctx, v, ttl)
	} else {
		more, err = c.correctSome(ctx, v, ttl)
	}
	if err != nil {
		return false, pg.Translate(fmt.Errorf("run void %d: %w", v.ID, err))
	}
	return more, nil
}

// listVoid lists the void's events. Reading does not delay the outbox, so it uses
// one snapshot; the list is written in chunks. An interrupted listing starts over.
func (c *Corrections) listVoid(ctx context.Context, v *scoreboard.Void, ttl time.Duration) (listed bool, err error) {
	// A row's time lies between the beginning and the commit of its transaction, so
	// earlier transactions could still add rows of the period. A role sees those of its own
	// sessions only: these are this role's, and the owner's.
	var early bool
	err = c.db.QueryRow(ctx, `select coalesce(least(oldest_own_transaction(), (
    select min(xact_start) from pg_stat_activity where datname = current_database() and backend_xid is not null
)) < $1, false)`, v.Sender.To).Scan(&early)
	if err != nil || early {
		if early {
			v.Problem = "a transaction that began before the end of the period is still running"
		}
		return false, err
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
				ttl,
			); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return false, err
	}
	v.State = scoreboard.VoidReversing
	_, err = c.db.Exec(ctx, `update voids set state = 'reversing' where id = $1 and state = 'listing'`, v.ID)
	return true, err
}

// voidStep is the work of one step: events that go from one state to another.
type voidStep struct {
	corrections *Corrections
	void        *scoreboard.Void
	how         correction
	from, to    string    // states of the events
	end         time.Time // no more is begun then
	progress    bool      // any event has another state or waits
}

// correctSome reverses or restores the next events of a void.
func (c *Corrections) correctSome(ctx context.Context, v *scoreboard.Void, ttl time.Duration) (more bool, err error) {
	s := voidStep{corrections: c, void: v, from: "todo", to: "reversed", end: time.Now().Add(ttl / 3)}
	end := scoreboard.VoidDone
	if v.State == scoreboard.VoidUndoing {
		s.from, s.to, end = "reversed", "undone", scoreboard.VoidUndone
	}
	if v.State == scoreboard.VoidUndoing {
		if err := c.giveBack(ctx, v.ID); err != nil {
			return false, err
		}
	}
	users, events, err := c.nextOfVoid(ctx, v.ID, s.from)
	if err != nil {
		return false, err
	}
	if len(users) == 0 {
		return false, c.endVoid(ctx, v, s.from, end)
	}
	found, err := c.findEvents(ctx, users, events, false)
	if err != nil {
		return false, err
	}
	if err := c.skipMissing(ctx, v.ID, s.from, users, events, found); err != nil {
		return false, err
	}
	if v.State == scoreboard.VoidReversing {
		if err := c.takeBack(ctx, v.ID, found); err != nil {
			return false, err
		}
	}
	s.how = correction{
		Correction: ledger.Correction{
			Undo: v.State == scoreboard.VoidUndoing, Void: &v.ID, OpenBoards: true,
		},
		also: func(
			ctx context.Context, conn *pgxpool.Conn, events []ledger.Event, outcomes []scoreboard.Outcome,
		) error {
			return c.markVoided(ctx, conn, v.ID, s.from, s.to, events, outcomes)
		},
	}
	if err := s.correct(ctx, found); err != nil {
		return false, err
	}
	_, err = c.db.Exec(ctx, `update voids set lease_until = clock_timestamp() + $2::interval where id = $1`, v.ID, ttl)
	return true, err
}

// correct corrects events, which are sorted by user, together. If that fails although
// the database works, it corrects each user's events on their own, and then ever fewer of
// them, until it has found those that fail: they wait. Once the time of the step is over,
// and it has achieved anything, it leaves the rest to the next step.
func (s *voidStep) correct(ctx context.Context, events []ledger.Event) error {
	if len(events) == 0 || s.progress && time.Now().After(s.end) {
		return nil
	}
	rest := events[userEvents(events):]
	tries := 1
	if len(rest) == 0 {
		tries = 3
	}
	_, err := s.corrections.correct(ctx, tries, s.how, events)
	if err == nil {
		s.progress = true
		return nil
	}
	if err := s.corrections.working(ctx, err); err != nil {
		return err
	}
	switch {
	case len(rest) > 0:
		for len(events) > 0 {
			n := userEvents(events)
			if err := s.correct(ctx, events[:n]); err != nil {
				return err
			}
			events = events[n:]
		}
		return nil
	case len(events) == 1 || temporary(err):
		s.progress = true
		return s.park(ctx, events, err)
	}
	middle := len(events) / 2
	if err := s.correct(ctx, events[:middle]); err != nil {
		return err
	}
	return s.correct(ctx, events[middle:])
}

// userEvents is how many of the events from the front belong to the same user.
func userEvents(events []ledger.Event) int {
	n := 1
	for n < len(events) && events[n].User == events[0].User {
		n++
	}
	return n
}

// working returns failure if the database does not work, so that the failure is not
// that of an event.
func (c *Corrections) working(ctx context.Context, failure error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ping, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := c.db.Exec(ping, `select 1`); err != nil {
		return failure
	}
	return nil
}

// temporary reports whether an event that failed is tried until it succeeds: it waits
// for a lock, or for time.
func temporary(err error) bool {
	return errors.Is(err, ledgertx.ErrUsersLocked) || wire.CodeOf(pg.Translate(err)) == wire.CodeUnavailable
}

// park lets events that failed wait, with the reason. After maxAttempts it skips them,
// unless the reason is temporary.
func (s *voidStep) park(ctx context.Context, events []ledger.Event, reason error) error {
	users, ids := make([]string, len(events)), make([][16]byte, len(events))
	for i := range events {
		users[i], ids[i] = string(events[i].User), events[i].ID
	}
	limit := maxAttempts
	if temporary(reason) {
		limit = math.MaxInt32
	}
	_, err := s.corrections.db.Exec(ctx, `update void_events as v set attempts = attempts + 1, note = $5,
    state = case when attempts + 1 < $6 then state else 'skipped' end,
    next_at = clock_timestamp() + least(power(2, least(attempts, 10)) * $7::interval, $8::interval)
from unnest($2::text[], $3::uuid[]) as t(u, e)
where v.void_id = $1 and v.user_id = t.u and v.event_id = t.e and v.state = $4`,
		s.void.ID, users, ids, s.from, describe(reason), limit, minWait, maxWait)
	return err
}

// maxDescription bounds a stored reason, in bytes.
const maxDescription = 200

// describe is the reason that is stored for a failure. It is the same for the same
// cause, so that failures can be counted by it.
func describe(err error) string {
	var ours *scoreboard.Error
	var theirs *pgconn.PgError
	text := err.Error()
	switch {
	case errors.Is(err, ledgertx.ErrUsersLocked):
		text = ledgertx.ErrUsersLocked.Error()
	case errors.As(err, &theirs):
		text = fmt.Sprintf("PostgreSQL: %s (%s)", theirs.Message, theirs.Code)
	case errors.As(err, &ours):
		text = ours.Message
	}
	if len(text) > maxDescription {
		text = text[:maxDescription]
	}
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
}

// endVoid ends a void without events that are left to do, or makes it wait for the first
// of those that wait.
func (c *Corrections) endVoid(
	ctx context.Context, v *scoreboard.Void, from string, end scoreboard.VoidState,
) error {
	var next *time.Duration
	err := c.db.QueryRow(ctx, `select min(next_at) - clock_timestamp() from void_events
where void_id = $1 and state = $2`, v.ID, from).Scan(&next)
	if err != nil {
		return err
	}
	if next != nil {
		v.Wait = min(max(*next, minWait), maxWait)
		return nil
	}
	tag, err := c.db.Exec(ctx, `update voids set state = $2, done_at = coalesce(done_at, clock_timestamp()),
    lease_until = '-infinity' where id = $1 and state = $3`, v.ID, end, v.State)
	if err == nil && tag.RowsAffected() > 0 {
		v.State, v.Done = end, time.Now()
	}
	return err
}

func (c *Corrections) nextOfVoid(
	ctx context.Context,
	id int64,
	state string,
) (users []string, events [][16]byte, err error) {
	rows, err := c.db.Query(ctx, `select user_id, event_id from void_events where void_id = $1 and state = $2
    and next_at not between clock_timestamp() and clock_timestamp() + 2 * $4::interval
order by user_id, event_id limit $3`, id, state, voidEvents, maxWait)
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
				scoreboard.Outcome{Err: scoreboard.Errorf(wire.CodeGone, "no longer in the ledger")},
			)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return c.markVoided(ctx, c.db, id, from, "", missing, outcomes)
}

// joinBoards is the note of an event that is corrected but on these boards. No board has a
// space in its name.
func joinBoards(boards []scoreboard.BoardID) string {
	var b strings.Builder
	for i, board := range boards {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(string(board))
	}
	return b.String()
}

// markVoided stores the result of events in the state from: the corrected ones
// move to the state to, with the boards that have ended as their note, the others are
// skipped. If it is repeated after a lost connection, it finds none.
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
		switch err := outcomes[i].Err; {
		case err != nil:
			note = describe(err)
		case outcomes[i].Receipts[0].Replayed:
			note = "already reversed"
		default:
			if closed := events[i].Uncorrected(outcomes[i].Receipts); len(closed) > 0 {
				note = joinBoards(closed)
				notes[i] = &note
			}
			continue
		}
		states[i], notes[i] = "skipped", &note
	}
	_, err := on.Exec(ctx, `update void_events as v set state = t.s, note = t.n,
    attempts = case when t.s = 'skipped' then attempts else 0 end
from unnest($2::text[], $3::uuid[], $4::text[], $5::text[]) as t(u, e, s, n)
where v.void_id = $1 and v.user_id = t.u and v.event_id = t.e and v.state = $6`, id, users, ids, states, notes, from)
	return err
}

// DeleteOldVoidEvents deletes the events of voids that can no longer be undone, but those that an ended board
// still counts and a corrected outcome of a league leaves out.
func (c *Corrections) DeleteOldVoidEvents(ctx context.Context) error {
	_, err := c.db.Exec(ctx, `delete from void_events using voids
where voids.id = void_id and (voids.state = 'undone' or voids.state = 'done')
    and done_at + $1::interval < clock_timestamp()
    and not (void_events.state in ('skipped', 'reversed') and voids.state = 'done'
        and exists (select from league_outcomes as o where o.user_id = void_events.user_id and o.revision > 1))`,
		scoreboard.UndoTime)
	if err != nil {
		return pg.Translate(fmt.Errorf("delete old voids: %w", err))
	}
	return nil
}
