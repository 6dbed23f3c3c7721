package corrections

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Reverse reverses one event of a user on all its boards or on none, as an event
// of its own. A second reversal is a replay. If the original's rows are archived
// and no longer in the ledger, it returns gone.
//
// An event of a client and an adjustment may have the same id: then how.Kind says which is
// meant, and without it the result is a conflict. No player can make an adjustment
// irreversible by taking its id.
//
// With how.OpenBoards, the event's boards that have ended stay as they are, if others are
// open: closed names them, and so does the audit entry.
func (c *Corrections) Reverse(
	ctx context.Context, user scoreboard.UserID, event scoreboard.EventID, how scoreboard.Reversing,
	audit *scoreboard.AuditEntry,
) (receipts []scoreboard.Receipt, closed []scoreboard.BoardID, err error) {
	found, err := c.findEvent(ctx, user, event, how.Kind)
	if err != nil {
		return nil, nil, pg.Translate(fmt.Errorf("reverse event %s of %s: %w", event.Text, user, err))
	}
	if len(found) == 0 {
		return nil, nil, c.explainMissing(ctx, user, event)
	}
	reversal := correction{Correction: ledger.Correction{Audit: audit, OpenBoards: how.OpenBoards}}
	outcomes, err := c.correct(ctx, pg.Retries, reversal, found)
	if err == nil {
		err = outcomes[0].Err
	}
	if err != nil {
		return nil, nil, pg.Translate(fmt.Errorf("reverse event %s of %s: %w", event.Text, user, err))
	}
	return outcomes[0].Receipts, found[0].Uncorrected(outcomes[0].Receipts), nil
}

// findEvent reads the one event that an id means, if there is any: the client's, or the
// adjustment. Other corrections cannot be reversed, so they only count if nothing else has
// the id.
func (c *Corrections) findEvent(
	ctx context.Context, user scoreboard.UserID, event scoreboard.EventID, kind scoreboard.EventKind,
) (found []ledger.Event, err error) {
	users, ids := []string{string(user)}, [][16]byte{event.UUID}
	if kind != scoreboard.KindAdjustment {
		if found, err = c.findEvents(ctx, users, ids, false); err != nil || kind == scoreboard.KindEvent {
			return found, err
		}
	}
	internal, err := c.findEvents(ctx, users, ids, true)
	switch {
	case err != nil || len(found) == 0:
		return internal, err
	case len(internal) > 0 && internal[0].Action == scoreboard.ActionAdjust:
		return nil, scoreboard.Errorf(wire.CodeConflict,
			"an event and an adjustment of user %s have the id %s; choose one with kind %q or %q",
			user, event.Text, scoreboard.KindEvent, scoreboard.KindAdjustment)
	}
	return found, nil
}

// explainMissing returns why an event is not in the ledger: it was never recorded,
// or old rows of the user are archived.
func (c *Corrections) explainMissing(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) error {
	const sqlArchived = `select exists (select from scores as s cross join lateral (
    select coalesce((select version from user_score_histories as h
        where h.user_id collate "POSIX" = s.user_id and h.board_id = s.board_id order by recorded_at limit 1),
        2) as first) as h
    where s.user_id = $1 and h.first > 1)`
	var gone bool
	if err := c.db.QueryRow(ctx, sqlArchived, user).Scan(&gone); err != nil {
		return pg.Translate(fmt.Errorf("check for archived rows of %s: %w", user, err))
	}
	if gone {
		return scoreboard.Errorf(wire.CodeGone,
			"event %s of user %s is not in the ledger; old rows of this user are archived", event.Text, user)
	}
	return scoreboard.Errorf(wire.CodeNotFound, "event %s of user %s not found", event.Text, user)
}

const sqlFindEvents = `select t.n, h.board_id, h.applied, coalesce(h.action, ''),
    coalesce(h.new_subscore, 0) - coalesce(h.previous_subscore, 0)
from unnest($1::text[], $2::uuid[]) with ordinality as t(u, e, n) cross join lateral (
    select * from user_score_histories where user_id = t.u and event_id = t.e and (source = 'admin') = $3
    offset 0) as h
order by t.n, h.board_id`

// findEvents reads recorded events, which never change: internal ones, or those of
// clients. It omits events that are not in the ledger.
func (c *Corrections) findEvents(
	ctx context.Context, users []string, events [][16]byte, internal bool,
) ([]ledger.Event, error) {
	rows, err := c.db.Query(ctx, sqlFindEvents, users, events, internal)
	if err != nil {
		return nil, err
	}
	var found []ledger.Event
	var n, last int64
	var applied scoreboard.Pair
	var board, action string
	_, err = pgx.ForEachRow(rows, []any{&n, &board, &applied.Score, &action, &applied.Subscore}, func() error {
		if n != last {
			last = n
			found = append(
				found,
				ledger.Event{User: scoreboard.UserID(users[n-1]), ID: events[n-1], Action: action, Admin: internal},
			)
		}
		e := &found[len(found)-1]
		e.Boards, e.Applied = append(e.Boards, scoreboard.BoardID(board)), append(e.Applied, applied)
		return nil
	})
	return found, err
}

// correction is a ledger.Correction in the database.
type correction struct {
	ledger.Correction
	// also runs in the same transaction, with the outcome of each event.
	also func(ctx context.Context, conn *pgxpool.Conn, events []ledger.Event, outcomes []scoreboard.Outcome) error
}

// errSeparate means that one of several events cannot be corrected, and that the
// scores of the others were computed together with it.
var errSeparate = errors.New("the events cannot be corrected together")

// correct corrects events in one transaction and returns an outcome for each. An
// event that is already in the requested state is a replay. After an error, none of
// the events is corrected.
func (c *Corrections) correct(
	ctx context.Context, tries int, how correction, events []ledger.Event,
) ([]scoreboard.Outcome, error) {
	items := make([]scoreboard.Increment, len(events))
	for i := range events {
		items[i] = how.Item(&events[i])
	}
	return c.run(ctx, tries, items, func(ctx context.Context, conn *pgxpool.Conn, b *ledger.Batch) error {
		return how.decide(ctx, conn, b, events)
	})
}

func (how *correction) decide(ctx context.Context, conn *pgxpool.Conn, b *ledger.Batch, events []ledger.Event) error {
	inForce, err := readReversals(ctx, conn, events)
	if err != nil {
		return err
	}
	apply, replayed := b.Plan(&how.Correction, events, inForce)
	for _, i := range replayed {
		id := inForce[events[i].Key()].ID
		event := scoreboard.EventID{UUID: id, Text: scoreboard.FormatUUID(id)}
		if b.Outcomes[i].Receipts, err = pg.Receipts(ctx, conn, events[i].User, event, true); err != nil {
			return err
		}
	}
	f := folder{conn: conn, batch: b, changes: make(map[ledger.EventKey]bool, len(apply))}
	for _, i := range apply {
		f.changes[events[i].Key()] = !how.Undo
	}
	for _, i := range apply {
		o := &b.Outcomes[i]
		o.Receipts, o.Err = b.Correct(i, &how.Correction, &events[i],
			func(user scoreboard.UserID, board *scoreboard.Board) (ledger.Standing, error) {
				return f.fold(ctx, user, board)
			})
		if o.Err != nil && (len(events) > 1 || wire.CodeOf(o.Err) == wire.CodeInternal) {
			return errors.Join(o.Err, errSeparate)
		}
	}
	return how.store(ctx, conn, b, events, apply)
}

// readReversals reads the reversals in force of events, under the users' locks.
func readReversals(
	ctx context.Context, conn *pgxpool.Conn, events []ledger.Event,
) (map[ledger.EventKey]ledger.Reversal, error) {
	users, ids, internal := make([]string, len(events)), make([][16]byte, len(events)), make([]bool, len(events))
	for i := range events {
		users[i], ids[i], internal[i] = string(events[i].User), events[i].ID, events[i].Admin
	}
	rows, err := conn.Query(ctx, `select t.n, r.reversal_id, r.void_id
from unnest($1::text[], $2::uuid[], $3::boolean[]) with ordinality as t(u, e, i, n) cross join lateral (
    select * from reversals where user_id = t.u and event_id = t.e and internal = t.i offset 0) as r`,
		users, ids, internal)
	if err != nil {
		return nil, err
	}
	found := make(map[ledger.EventKey]ledger.Reversal)
	var n int64
	var r ledger.Reversal
	_, err = pgx.ForEachRow(rows, []any{&n, &r.ID, &r.Void}, func() error {
		found[events[n-1].Key()] = r
		return nil
	})
	return found, err
}

// store writes which events are now reversed, and the audit entry.
func (how *correction) store(
	ctx context.Context, conn *pgxpool.Conn, b *ledger.Batch, events []ledger.Event, applied []int,
) error {
	var users []string
	var ids, by [][16]byte
	var internal []bool
	for _, i := range applied {
		if b.Outcomes[i].Err == nil {
			users, ids = append(users, string(events[i].User)), append(ids, events[i].ID)
			by, internal = append(by, b.Items[i].Event.UUID), append(internal, events[i].Admin)
		}
	}
	if len(users) > 0 {
		var err error
		if how.Undo {
			_, err = conn.Exec(ctx, `delete from reversals as r using
    unnest($1::text[], $2::uuid[], $3::boolean[]) as t(u, e, i)
where r.user_id = t.u and r.event_id = t.e and r.internal = t.i`, users, ids, internal)
		} else {
			_, err = conn.Exec(ctx, `insert into reversals (user_id, event_id, internal, reversal_id, void_id)
select u, e, i, b, $5::bigint from unnest($1::text[], $2::uuid[], $3::boolean[], $4::uuid[]) as t(u, e, i, b)`,
				users, ids, internal, by, how.Void)
		}
		if err == nil {
			err = storeStandings(ctx, conn, &b.Rows)
		}
		if err == nil {
			err = how.audit(ctx, conn, events, b.Outcomes)
		}
		if err != nil {
			return err
		}
	}
	if how.also != nil {
		return how.also(ctx, conn, events, b.Outcomes)
	}
	return nil
}

// storeStandings writes the standings after each row of a correction: from its rows alone the
// ledger does not tell to which time a best or latest score has returned.
func storeStandings(ctx context.Context, conn *pgxpool.Conn, r *ledger.Rows) error {
	_, err := conn.Exec(ctx, `insert into corrected_standings (user_id, board_id, version, at, reached_at, empty)
select * from unnest($1::text[], $2::text[], $3::bigint[], $4::timestamptz[], $5::timestamptz[], $6::boolean[])`,
		r.Users, r.Boards, r.Versions, r.RecordedAt, r.ReachedAt, r.Empty)
	return err
}

// audit writes the audit entry, if there is one, with the boards that have ended and stay
// as they are.
func (how *correction) audit(
	ctx context.Context, conn *pgxpool.Conn, events []ledger.Event, outcomes []scoreboard.Outcome,
) error {
	if how.Audit == nil {
		return nil
	}
	entry := *how.Audit
	if closed := events[0].Uncorrected(outcomes[0].Receipts); len(closed) > 0 {
		detail := make(map[string]any)
		if len(entry.Detail) > 0 {
			if err := json.Unmarshal(entry.Detail, &detail); err != nil {
				return fmt.Errorf("decode the detail of the audit entry: %w", err)
			}
		}
		detail["closed_boards"] = closed
		var err error
		if entry.Detail, err = json.Marshal(detail); err != nil {
			return fmt.Errorf("encode the detail of the audit entry: %w", err)
		}
	}
	return pg.WriteAudit(ctx, conn, &entry)
}

// folder reads the rows for ledger.Fold, once for each score.
type folder struct {
	conn    *pgxpool.Conn
	batch   *ledger.Batch
	changes map[ledger.EventKey]bool
	done    map[ledger.ScoreKey]ledger.Standing
}

const sqlFold = `select h.event_id, h.delta, h.source = 'admin', coalesce(h.action, ''), h.recorded_at, h.version,
h.new_score - h.applied,
    h.previous_score is not null, exists (select from reversals as r where r.user_id = h.user_id
        and r.event_id = h.event_id and r.internal = (h.source = 'admin')), coalesce(h.metadata, ''),
    coalesce(h.subscore, 0), coalesce(h.previous_subscore, 0)
from user_score_histories as h where h.user_id collate "POSIX" = $1 and h.board_id = $2 order by h.version`

func (f *folder) fold(ctx context.Context, user scoreboard.UserID, board *scoreboard.Board) (ledger.Standing, error) {
	key := ledger.ScoreKey{User: user, Board: board.ID}
	if to, ok := f.done[key]; ok {
		return to, nil
	}
	rows, err := f.conn.Query(ctx, sqlFold, user, board.ID)
	if err != nil {
		return ledger.Standing{}, err
	}
	fold := f.batch.NewFold(user, board, f.changes)
	var r ledger.FoldRow
	to := []any{
		&r.Event, &r.Delta, &r.Admin, &r.Action, &r.At, &r.Version, &r.Before, &r.Existed, &r.Reversed,
		&r.Metadata, &r.Subscore, &r.SubscoreBefore,
	}
	if _, err = pgx.ForEachRow(rows, to, func() error {
		fold.Add(&r)
		return nil
	}); err != nil {
		return ledger.Standing{}, err
	}
	if f.done == nil {
		f.done = make(map[ledger.ScoreKey]ledger.Standing)
	}
	f.done[key] = fold.Standing()
	return f.done[key], nil
}
