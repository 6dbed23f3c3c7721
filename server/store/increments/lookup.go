package increments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/ledgertx"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
	"github.com/scoreboard/scoreboard/server/store/internal/row"
)

// Known looks up a batch of events without locks: receipts for recorded events, a
// conflict if the payload differs, and an empty outcome for the rest.
func (s *Increments) Known(ctx context.Context, batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
	b := ledger.NewBatch(batch, s.o.Shards, nil)
	if err := ledgertx.ReadKnown(ctx, s.db, b); err != nil {
		return nil, pg.Translate(fmt.Errorf("look up %d events: %w", len(batch), err))
	}
	for i := range batch {
		if receipts, known, err := b.Replay(i); known {
			b.Outcomes[i] = scoreboard.Outcome{Receipts: receipts, Err: err}
		}
	}
	return b.Outcomes, nil
}

// Event returns the receipts of a user's event on every board, or a not_found.
func (s *Increments) Event(
	ctx context.Context, user scoreboard.UserID, event scoreboard.EventID,
) ([]scoreboard.Receipt, error) {
	receipts, err := row.Receipts(ctx, s.db, user, event)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("look up event %s of %s: %w", event.Text, user, err))
	}
	if len(receipts) == 0 {
		return nil, scoreboard.Errorf(scoreboard.CodeNotFound, "event %s of user %s not found", event.Text, user)
	}
	return receipts, nil
}

// Reject stores why accepted events were not recorded. A repeated rejection keeps
// the first reason.
func (s *Increments) Reject(
	ctx context.Context, rejected []scoreboard.Increment, reasons []*scoreboard.Error,
) error {
	n := len(rejected)
	users, events, hashes := make([]string, n), make([][16]byte, n), make([][]byte, n)
	codes, messages := make([]string, n), make([]string, n)
	for i := range rejected {
		hash := rejected[i].PayloadHash()
		users[i], events[i], hashes[i] = string(rejected[i].User), rejected[i].Event.UUID, hash[:]
		codes[i], messages[i] = string(reasons[i].Code), reasons[i].Message
	}
	_, err := s.db.Exec(ctx, `insert into rejected_events (user_id, event_id, payload_hash, error_code, message)
select * from unnest($1::text[], $2::uuid[], $3::bytea[], $4::text[], $5::text[]) on conflict do nothing`,
		users, events, hashes, codes, messages)
	if err != nil {
		return pg.Translate(fmt.Errorf("store %d rejections: %w", n, err))
	}
	return nil
}

// Rejection returns why an event was not recorded; nil if no rejection is stored.
func (s *Increments) Rejection(
	ctx context.Context, user scoreboard.UserID, event scoreboard.EventID,
) (*scoreboard.Error, error) {
	e := &scoreboard.Error{}
	err := s.db.QueryRow(ctx, `select error_code, message from rejected_events where user_id = $1 and event_id = $2`,
		user, event.UUID).Scan(&e.Code, &e.Message)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no rejection is not an error
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("look up the rejection of event %s of %s: %w", event.Text, user, err))
	}
	return e, nil
}

// DeleteUsedTokens deletes at most limit action tokens that were used before a
// time and returns how many. Expired tokens are rejected even without their row,
// but an accepted increment may still arrive with one until the deduplication
// window ends.
func (s *Increments) DeleteUsedTokens(ctx context.Context, before time.Time, limit int) (int64, error) {
	done, err := s.db.Exec(ctx, `delete from used_action_tokens where action_id in (
    select action_id from used_action_tokens where used_at < $1 order by used_at limit $2)`, before, limit)
	if err != nil {
		return 0, pg.Translate(fmt.Errorf("delete used action tokens: %w", err))
	}
	return done.RowsAffected(), nil
}
