package increments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Known looks up a batch of events without locks: receipts for recorded events, a
// conflict if the payload differs, gone for those of erased users, and an empty outcome
// for the rest.
func (s *Increments) Known(ctx context.Context, batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
	b := ledger.NewBatch(batch, s.o.Shards, nil)
	if err := s.tx.ReadKnown(ctx, b); err != nil {
		return nil, pg.Translate(fmt.Errorf("look up %d events: %w", len(batch), err))
	}
	erased, err := s.erased(ctx, b.UserNames)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("look up the users of %d events: %w", len(batch), err))
	}
	for i := range batch {
		if receipts, known, err := b.Replay(i); known {
			b.Outcomes[i] = scoreboard.Outcome{Receipts: receipts, Err: err}
		} else if slices.Contains(erased, batch[i].User) {
			b.Outcomes[i].Err = pg.ErasedUser(batch[i].User)
		}
	}
	return b.Outcomes, nil
}

// Event returns the receipts of a user's event on every board, or a not_found. A
// client's event comes before a correction with the same id.
func (s *Increments) Event(
	ctx context.Context, user scoreboard.UserID, event scoreboard.EventID,
) ([]scoreboard.Receipt, error) {
	receipts, err := pg.Receipts(ctx, s.db, user, event, false)
	if err == nil && len(receipts) == 0 {
		receipts, err = pg.Receipts(ctx, s.db, user, event, true)
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("look up event %s of %s: %w", event.Text, user, err))
	}
	if len(receipts) == 0 {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "event %s of user %s not found", event.Text, user)
	}
	return receipts, nil
}

// EventTexts returns the id of each change's event as its client sent it. Only a UUIDv5,
// which is made of other ids, is looked up; the others, and those of which the ledger
// has no row, such as of erased users, are the UUID.
func (s *Increments) EventTexts(ctx context.Context, changes []scoreboard.Change) ([]string, error) {
	texts := make([]string, len(changes))
	var index []int
	var users, boards []string
	var events [][16]byte
	var at []time.Time
	for i := range changes {
		c := &changes[i]
		texts[i] = scoreboard.FormatUUID(c.Event)
		if version := c.Event[6] >> 4; version == 5 {
			index, users, boards = append(index, i), append(users, string(c.User)), append(boards, string(c.Board))
			events, at = append(events, c.Event), append(at, c.RecordedAt)
		}
	}
	if len(index) == 0 {
		return texts, nil
	}
	const sql = `select t.n - 1, h.event_text
from unnest($1::text[], $2::uuid[], $3::text[], $4::timestamptz[]) with ordinality as t(u, e, b, at, n)
cross join lateral (select event_text from user_score_histories
    where user_id = t.u and event_id = t.e and board_id = t.b and recorded_at = t.at offset 0) as h
where h.event_text is not null`
	rows, err := s.db.Query(ctx, sql, users, events, boards, at)
	if err == nil {
		var n int
		var text string
		_, err = pgx.ForEachRow(rows, []any{&n, &text}, func() error {
			texts[index[n]] = text
			return nil
		})
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("look up the ids of %d events: %w", len(index), err))
	}
	return texts, nil
}

// erased returns those of the users that are erased.
func (s *Increments) erased(ctx context.Context, users []string) (erased []scoreboard.UserID, err error) {
	err = s.db.QueryRow(ctx, `select array(select e.user_id from unnest($1::text[]) as t(u) cross join lateral (
    select user_id from users where user_id = t.u and status = 'erased' offset 0) as e)`, users).Scan(&erased)
	return erased, err
}

// Reject stores why accepted events were not recorded. For each event the attempt
// that was accepted last counts; its first reason stays. Nothing is stored about erased
// users. It takes the users' locks, so that an erasure deletes what it stores, or comes
// first.
func (s *Increments) Reject(
	ctx context.Context, rejected []scoreboard.Increment, reasons []*scoreboard.Error,
) error {
	n := len(rejected)
	users, events, hashes := make([]string, n), make([][16]byte, n), make([][]byte, n)
	codes, messages, accepted := make([]string, n), make([]string, n), make([]time.Time, n)
	for i := range rejected {
		hash := rejected[i].PayloadHash()
		users[i], events[i], hashes[i] = string(rejected[i].User), rejected[i].Event.UUID, hash[:]
		codes[i], messages[i], accepted[i] = string(reasons[i].Code), reasons[i].Message, rejected[i].Accepted
	}
	reject := func(tx pgx.Tx) error {
		created, erased, err := lockForRejections(ctx, tx, rejected)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlReject, users, events, hashes, codes, messages, accepted, erased); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `delete from users where user_id = any($1)`, created)
		return err
	}
	if err := s.db.InLimitedTx(ctx, reject); err != nil {
		return pg.Translate(fmt.Errorf("store %d rejections: %w", n, err))
	}
	return nil
}

// lockForRejections locks the users of rejected events. It returns those that it has
// created, of whom nothing but the rejection is known, and those that are erased.
func lockForRejections(
	ctx context.Context, tx pgx.Tx, rejected []scoreboard.Increment,
) (created, erased []scoreboard.UserID, err error) {
	unique := usersOf(rejected)
	slices.Sort(unique)
	locked, err := pg.LockUsers(ctx, tx, slices.Compact(unique))
	if err != nil {
		return nil, nil, fmt.Errorf("lock the users: %w", err)
	}
	created, erased = []scoreboard.UserID{}, []scoreboard.UserID{}
	for i := range locked {
		switch u := &locked[i]; {
		case u.Created:
			created = append(created, u.User)
		case u.Status == scoreboard.UserErased:
			erased = append(erased, u.User)
		}
	}
	return created, erased, nil
}

const sqlReject = `insert into rejected_events as r (user_id, event_id, payload_hash, error_code, message, accepted_at)
select distinct on (u, e) u, e, hash, code, message, at
from unnest($1::text[], $2::uuid[], $3::bytea[], $4::text[], $5::text[], $6::timestamptz[])
    as t(u, e, hash, code, message, at)
where u <> all($7::text[])
order by u, e, at desc
on conflict (user_id, event_id) do update set payload_hash = excluded.payload_hash, error_code = excluded.error_code,
    message = excluded.message, accepted_at = excluded.accepted_at, rejected_at = clock_timestamp()
where r.accepted_at < excluded.accepted_at`

// Rejection returns why an event was not recorded; nil if no rejection is stored.
func (s *Increments) Rejection(
	ctx context.Context, user scoreboard.UserID, event scoreboard.EventID,
) (*scoreboard.Rejection, error) {
	r := &scoreboard.Rejection{Reason: &scoreboard.Error{}}
	err := s.db.QueryRow(ctx, `select error_code, message, accepted_at from rejected_events
where user_id = $1 and event_id = $2`, user, event.UUID).Scan(&r.Reason.Code, &r.Reason.Message, &r.Accepted)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no rejection is not an error
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("look up the rejection of event %s of %s: %w", event.Text, user, err))
	}
	return r, nil
}

// Rejected reports for each accepted increment whether it, or an attempt accepted
// later, was rejected. A rejection as internal does not count: an operator may have
// removed its cause and published the record again.
func (s *Increments) Rejected(ctx context.Context, batch []scoreboard.Increment) ([]bool, error) {
	n := len(batch)
	users, events, accepted := make([]string, n), make([][16]byte, n), make([]time.Time, n)
	for i := range batch {
		users[i], events[i], accepted[i] = string(batch[i].User), batch[i].Event.UUID, batch[i].Accepted
	}
	rows, err := s.db.Query(ctx, `select t.n
from unnest($1::text[], $2::uuid[], $3::timestamptz[]) with ordinality as t(u, e, at, n) cross join lateral (
    select from rejected_events where user_id = t.u and event_id = t.e
        and accepted_at >= t.at and error_code <> 'internal' offset 0) as r`,
		users, events, accepted)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("look up the rejections of %d events: %w", n, err))
	}
	rejected := make([]bool, n)
	var i int64
	if _, err := pgx.ForEachRow(rows, []any{&i}, func() error {
		rejected[i-1] = true
		return nil
	}); err != nil {
		return nil, pg.Translate(fmt.Errorf("look up the rejections of %d events: %w", n, err))
	}
	return rejected, nil
}

// DeleteRejections deletes at most limit rejections that are older than a time, or
// beyond the newest keep, and returns how many.
func (s *Increments) DeleteRejections(ctx context.Context, before time.Time, keep, limit int) (int64, error) {
	done, err := s.db.Exec(ctx, `delete from rejected_events where (user_id, event_id) in (
    select user_id, event_id from rejected_events where rejected_at < greatest($1,
        (select rejected_at from rejected_events order by rejected_at desc offset $2 - 1 limit 1))
    order by rejected_at limit $3)`, before, keep, limit)
	if err != nil {
		return 0, pg.Translate(fmt.Errorf("delete rejections: %w", err))
	}
	return done.RowsAffected(), nil
}

// DeleteUsedTokens deletes at most limit action tokens that were used before a
// time and returns how many. Expired tokens are rejected even without their row,
// but an accepted increment may still arrive with one until the deduplication
// window ends.
func (s *Increments) DeleteUsedTokens(ctx context.Context, before time.Time, limit int) (int64, error) {
	done, err := s.db.Exec(ctx, `delete from used_action_tokens where (user_id, action_id) in (
    select user_id, action_id from used_action_tokens where used_at < $1 order by used_at limit $2)`, before, limit)
	if err != nil {
		return 0, pg.Translate(fmt.Errorf("delete used action tokens: %w", err))
	}
	return done.RowsAffected(), nil
}
