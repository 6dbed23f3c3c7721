package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Reject keeps why events that had been accepted were not recorded. An event
// that is known as rejected already keeps its first reason.
func (s *Store) Reject(ctx context.Context, refused []scoreboard.Increment, reasons []*scoreboard.Error) error {
	users, events := make([]string, len(refused)), make([][16]byte, len(refused))
	hashes, codes, messages := make([][]byte, len(refused)), make([]string, len(refused)), make([]string, len(refused))
	for i := range refused {
		hash := refused[i].PayloadHash()
		users[i], events[i], hashes[i] = string(refused[i].User), refused[i].Event.UUID, hash[:]
		codes[i], messages[i] = string(reasons[i].Code), reasons[i].Message
	}
	_, err := s.pool.Exec(ctx, `insert into rejected_events (user_id, event_id, payload_hash, error_code, message)
select * from unnest($1::text[], $2::uuid[], $3::bytea[], $4::text[], $5::text[]) on conflict do nothing`,
		users, events, hashes, codes, messages)
	if err != nil {
		return translate(fmt.Errorf("keep %d rejections: %w", len(refused), err))
	}
	return nil
}

// Rejection returns why an event was not recorded; nil where it is not known
// as rejected.
func (s *Store) Rejection(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) (*scoreboard.Error, error) {
	e := &scoreboard.Error{}
	err := s.pool.QueryRow(ctx, `select error_code, message from rejected_events where user_id = $1 and event_id = $2`,
		user, event.UUID).Scan(&e.Code, &e.Message)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no rejection is an answer, not a failure
	}
	if err != nil {
		return nil, translate(fmt.Errorf("look up the rejection of event %s of %s: %w", event.Text, user, err))
	}
	return e, nil
}

// Known looks a batch of events up without taking a lock: receipts for those
// that are recorded, a conflict where the payload differs, and an empty
// outcome for the rest.
func (s *Store) Known(ctx context.Context, batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
	r := newRecording(batch, s.o.Shards)
	rows, err := s.pool.Query(ctx, sqlKnownEvents, r.eventUsers, r.eventIDs, KnownSince(time.Now()))
	if err == nil {
		err = r.readKnown(rows)
	}
	if err != nil {
		return nil, translate(fmt.Errorf("look up %d events: %w", len(batch), err))
	}
	for i := range batch {
		in := &batch[i]
		if known := r.known[eventKey{in.User, in.Event.UUID}]; known != nil {
			receipts, err := replay(in, r.hashes[i], known)
			r.outcomes[i] = scoreboard.Outcome{Receipts: receipts, Err: err}
		}
	}
	return r.outcomes, nil
}
