package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// original is an event that is to be reversed, or to count again.
type original struct {
	user   scoreboard.UserID
	event  [16]byte
	boards []scoreboard.BoardID
	// applied is what it came to on each of the boards.
	applied []int64
	action  string
	admin   bool
}

// Reverse takes back one event of a user, on all its boards or on none, as an
// event of its own whose id follows from the original's. Twice is a replay.
// Where the original is not known any more, because the ledger's old rows are
// archived, it is gone.
func (s *Store) Reverse(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID, why *scoreboard.AuditEntry) ([]scoreboard.Receipt, error) {
	found, err := s.originals(ctx, []string{string(user)}, [][16]byte{event.UUID})
	if err != nil {
		return nil, translate(fmt.Errorf("reverse event %s of %s: %w", event.Text, user, err))
	}
	if len(found) == 0 {
		return nil, s.notInLedger(ctx, user, event)
	}
	outcomes, err := s.turn(ctx, turning{reverse: true, why: why}, found)
	if err == nil {
		err = outcomes[0].Err
	}
	if err != nil {
		return nil, translate(fmt.Errorf("reverse event %s of %s: %w", event.Text, user, err))
	}
	return outcomes[0].Receipts, nil
}

// notInLedger says why an event cannot be found: it never was, or rows of the
// user have left for the archive.
func (s *Store) notInLedger(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) error {
	const archived = `select exists (select from scores as s cross join lateral (
    select coalesce((select version from user_score_histories as h
        where h.user_id collate "POSIX" = s.user_id and h.board_id = s.board_id order by recorded_at limit 1), 2) as first) as h
    where s.user_id = $1 and h.first > 1)`
	var gone bool
	if err := s.pool.QueryRow(ctx, archived, user).Scan(&gone); err != nil {
		return translate(fmt.Errorf("look for archived rows of %s: %w", user, err))
	}
	if gone {
		return scoreboard.Errorf(scoreboard.CodeGone, "event %s of user %s is not in the ledger; old rows of this user are archived", event.Text, user)
	}
	return scoreboard.Errorf(scoreboard.CodeNotFound, "event %s of user %s is not known", event.Text, user)
}

const sqlOriginals = `select t.n, h.board_id, h.applied, coalesce(h.action, ''), h.source = 'admin'
from unnest($1::text[], $2::uuid[]) with ordinality as t(u, e, n) cross join lateral (
    select * from user_score_histories where user_id = t.u and event_id = t.e offset 0) as h
order by t.n, h.board_id`

// originals finds events, which never change; those that are not known are
// left out.
func (s *Store) originals(ctx context.Context, users []string, events [][16]byte) ([]original, error) {
	rows, err := s.pool.Query(ctx, sqlOriginals, users, events)
	if err != nil {
		return nil, err
	}
	var found []original
	var n, last, applied int64
	var board, action string
	var admin bool
	_, err = pgx.ForEachRow(rows, []any{&n, &board, &applied, &action, &admin}, func() error {
		if n != last {
			last = n
			found = append(found, original{user: scoreboard.UserID(users[n-1]), event: events[n-1], action: action, admin: admin})
		}
		o := &found[len(found)-1]
		o.boards, o.applied = append(o.boards, scoreboard.BoardID(board)), append(o.applied, applied)
		return nil
	})
	return found, err
}

// turning says which way events are turned, and for whom.
type turning struct {
	reverse bool // else what a void has reversed counts again
	void    *int64
	why     *scoreboard.AuditEntry // nil: the caller has written it
	// also is done in the same transaction with what became of each.
	also func(ctx context.Context, conn *pgxpool.Conn, events []original, outcomes []scoreboard.Outcome) error
}

// errTaken says that the id of a reversal is in the ledger already, as what a
// client has made up.
var errTaken = errors.New("the derived event id is taken")

// turnTries bounds how many made-up ids are passed over.
const turnTries = 8

// turn reverses events, or undoes that, in one transaction: an outcome for
// each. An event that stands as it should already is a replay.
func (s *Store) turn(ctx context.Context, t turning, events []original) ([]scoreboard.Outcome, error) {
	for try := range turnTries {
		items := make([]scoreboard.Increment, len(events))
		for i := range events {
			items[i] = t.item(&events[i], try)
		}
		outcomes, err := s.amend(ctx, items, func(ctx context.Context, conn *pgxpool.Conn, r *recording) error {
			return s.decideTurn(ctx, conn, r, t, events)
		})
		if errors.Is(err, errApart) && len(events) > 1 {
			return s.turnApart(ctx, t, events)
		}
		if !errors.Is(err, errTaken) {
			return outcomes, err
		}
	}
	return nil, fmt.Errorf("%w %d times", errTaken, turnTries)
}

// errApart says that an event of several cannot be turned: what the others come
// to together was reckoned with it.
var errApart = errors.New("not all of the events can be turned together")

// turnApart turns events one by one, each in a transaction of its own.
func (s *Store) turnApart(ctx context.Context, t turning, events []original) ([]scoreboard.Outcome, error) {
	outcomes := make([]scoreboard.Outcome, len(events))
	for i := range events {
		got, err := s.turn(ctx, t, events[i:i+1])
		if err != nil {
			return nil, err
		}
		outcomes[i] = got[0]
	}
	return outcomes, nil
}

// item is the event that turns another one.
func (t *turning) item(o *original, try int) scoreboard.Increment {
	kind, action := "reversal", actionReversal
	if !t.reverse {
		kind, action = "undo", actionUndo
	}
	if t.void != nil {
		kind = fmt.Sprintf("%s of void %d", kind, *t.void)
	}
	if try > 0 {
		kind = fmt.Sprintf("%s, try %d", kind, try)
	}
	in := scoreboard.Increment{
		User: o.user, Event: scoreboard.EventID{UUID: o.event}.Derived(o.user, kind), Boards: o.boards,
		Action: action + scoreboard.FormatUUID(o.event), Source: scoreboard.SourceAdmin,
	}
	if t.why != nil {
		in.Signer, in.Address, in.Agent = string(t.why.Who), t.why.Address, t.why.Agent
	}
	return in
}

// reversed is what stands in reversals for an event.
type reversed struct {
	by   [16]byte
	void *int64
}

func (s *Store) decideTurn(ctx context.Context, conn *pgxpool.Conn, r *recording, t turning, events []original) error {
	standing, err := reversalsOf(ctx, conn, events)
	if err != nil {
		return err
	}
	f := &folder{conn: conn, recording: r, turned: make(map[eventKey]bool)}
	var turned []int
	for i := range events {
		o := &events[i]
		if err := t.check(r, o, standing[eventKey{o.user, o.event}]); err != nil {
			r.outcomes[i].Err = err
			continue
		}
		if was, is := standing[eventKey{o.user, o.event}]; is == t.reverse {
			if r.outcomes[i].Receipts, err = t.replay(ctx, conn, o, was); err != nil {
				return err
			}
			continue
		}
		if r.known[eventKey{o.user, r.items[i].Event.UUID}] != nil {
			return errTaken
		}
		turned = append(turned, i)
		f.turned[eventKey{o.user, o.event}] = t.reverse
	}
	for _, i := range turned {
		r.outcomes[i].Receipts, r.outcomes[i].Err = f.turn(ctx, &r.items[i], r.hashes[i], &events[i], t.reverse)
		if err := r.outcomes[i].Err; err != nil && (len(events) > 1 || scoreboard.CodeOf(err) == scoreboard.CodeInternal) {
			return errors.Join(err, errApart)
		}
	}
	return t.keep(ctx, conn, r, events, turned)
}

// check says why an event cannot be turned at all.
func (t *turning) check(r *recording, o *original, was reversed) error {
	if err := r.knows(o.user); err != nil {
		return err
	}
	if o.admin && o.action != actionAdjust {
		return scoreboard.Errorf(scoreboard.CodeConflict, "event %s is itself a %s", scoreboard.FormatUUID(o.event), strings.Split(o.action, ":")[0])
	}
	if !t.reverse && (was.void == nil || *was.void != *t.void) {
		return scoreboard.Errorf(scoreboard.CodeConflict, "event %s is not reversed by this void", scoreboard.FormatUUID(o.event))
	}
	for _, name := range o.boards {
		if _, err := r.openExactly(name); err != nil {
			return err
		}
	}
	return nil
}

// replay answers with the receipts of the reversal that stands.
func (t *turning) replay(ctx context.Context, conn *pgxpool.Conn, o *original, was reversed) ([]scoreboard.Receipt, error) {
	rows, err := conn.Query(ctx, sqlEvent, o.user, was.by)
	if err != nil {
		return nil, err
	}
	event := scoreboard.EventID{UUID: was.by, Text: scoreboard.FormatUUID(was.by)}
	return readReceipts(rows, o.user, event)
}

// reversalsOf reads what of events is reversed now, under the users' locks.
func reversalsOf(ctx context.Context, conn *pgxpool.Conn, events []original) (map[eventKey]reversed, error) {
	users, ids := make([]string, len(events)), make([][16]byte, len(events))
	for i := range events {
		users[i], ids[i] = string(events[i].user), events[i].event
	}
	rows, err := conn.Query(ctx, `select t.n, r.reversal_id, r.void_id
from unnest($1::text[], $2::uuid[]) with ordinality as t(u, e, n) cross join lateral (
    select * from reversals where user_id = t.u and event_id = t.e offset 0) as r`, users, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[eventKey]reversed)
	var n int64
	var was reversed
	_, err = pgx.ForEachRow(rows, []any{&n, &was.by, &was.void}, func() error {
		found[eventKey{events[n-1].user, events[n-1].event}] = was
		return nil
	})
	return found, err
}

// keep writes which events are reversed now, and the trail.
func (t *turning) keep(ctx context.Context, conn *pgxpool.Conn, r *recording, events []original, turned []int) error {
	var users []string
	var ids, by [][16]byte
	for _, i := range turned {
		if r.outcomes[i].Err == nil {
			users, ids, by = append(users, string(events[i].user)), append(ids, events[i].event), append(by, r.items[i].Event.UUID)
		}
	}
	if len(users) > 0 {
		var err error
		if t.reverse {
			_, err = conn.Exec(ctx, `insert into reversals (user_id, event_id, reversal_id, void_id)
select u, e, b, $4::bigint from unnest($1::text[], $2::uuid[], $3::uuid[]) as t(u, e, b)`, users, ids, by, t.void)
		} else {
			_, err = conn.Exec(ctx, `delete from reversals as r using unnest($1::text[], $2::uuid[]) as t(u, e)
where r.user_id = t.u and r.event_id = t.e`, users, ids)
		}
		if err != nil {
			return err
		}
		if t.why != nil {
			if err := writeAudit(ctx, conn, t.why); err != nil {
				return err
			}
		}
	}
	if t.also != nil {
		return t.also(ctx, conn, events, r.outcomes)
	}
	return nil
}
