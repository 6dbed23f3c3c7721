package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Whoever closes a board waits for the transactions that write to it. Those
// that come later queue up behind, so it waits a little at a time, and for
// longer than any of them may take.
const (
	closeWait     = 50 * time.Millisecond // half of what a writer waits
	closePatience = 10 * time.Second
)

// exclusively runs do while nobody writes to a board or its instances.
func (s *Store) exclusively(ctx context.Context, family scoreboard.BoardID, do func(pgx.Tx) error) error {
	deadline := time.Now().Add(closePatience)
	for {
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `select set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true),
    set_config('idle_in_transaction_session_timeout', $2, true)`, milliseconds(closeWait), milliseconds(s.o.Timeout))
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended($1, 0))`, family); err != nil {
				return err
			}
			return do(tx)
		})
		if state(err) != stateLockTimeout || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(closeWait/2 + rand.N(closeWait)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// FreezeBoard refuses writes to a board from now on: when it returns, no
// transaction that writes to it is under way. Of a family it holds for all its
// periods, those to come as well.
func (s *Store) FreezeBoard(ctx context.Context, id scoreboard.BoardID, why *scoreboard.AuditEntry) (*scoreboard.Board, error) {
	return s.setStatus(ctx, id, scoreboard.StatusFrozen, why, func(b *scoreboard.Board) error {
		if b.Status == scoreboard.StatusArchived {
			return scoreboard.Errorf(scoreboard.CodeConflict, "board %s is archived", b.ID)
		}
		return nil
	})
}

// UnfreezeBoard takes writes again. What is final stays closed: a conflict.
func (s *Store) UnfreezeBoard(ctx context.Context, id scoreboard.BoardID, why *scoreboard.AuditEntry) (*scoreboard.Board, error) {
	return s.setStatus(ctx, id, scoreboard.StatusActive, why, func(b *scoreboard.Board) error {
		if b.Status == scoreboard.StatusArchived {
			return scoreboard.Errorf(scoreboard.CodeConflict, "board %s is archived", b.ID)
		}
		if !b.Closed.IsZero() {
			return scoreboard.Errorf(scoreboard.CodeConflict, "the period of board %s is closed, and its standings are final", b.ID)
		}
		return nil
	})
}

// ArchiveBoard ends a board for good: it takes no writes, leaves the ranking,
// and is read from the store. With a family go its instances; those that have
// begun are still closed when they end.
func (s *Store) ArchiveBoard(ctx context.Context, id scoreboard.BoardID, why *scoreboard.AuditEntry) (*scoreboard.Board, error) {
	return s.setStatus(ctx, id, scoreboard.StatusArchived, why, func(*scoreboard.Board) error { return nil })
}

// A period that never begins has no end to announce.
const sqlArchiveInstances = `update boards set status = 'archived',
    closed_at = case when closed_at is null and period_start > clock_timestamp() then clock_timestamp() else closed_at end,
    announced_at = case when closed_at is null and period_start > clock_timestamp() then clock_timestamp() else announced_at end
where family_id = $1 and board_id <> family_id`

// setStatus moves a board to a status where check, asked under the lock, has
// nothing against it. Of one that has it already the trail hears nothing.
func (s *Store) setStatus(ctx context.Context, id scoreboard.BoardID, to scoreboard.Status, why *scoreboard.AuditEntry, check func(*scoreboard.Board) error) (b *scoreboard.Board, err error) {
	if b, err = s.FindBoard(ctx, id); err != nil {
		return nil, err
	}
	err = s.exclusively(ctx, b.Family, func(tx pgx.Tx) error {
		if b, err = findBoard(ctx, tx, id); err != nil {
			return err
		}
		if err := check(b); err != nil {
			return err
		}
		if to == scoreboard.StatusArchived && b.IsFamily() {
			if _, err := tx.Exec(ctx, sqlArchiveInstances, id); err != nil {
				return err
			}
		}
		was := b.Status
		b.Status = to
		if _, err := tx.Exec(ctx, `update boards set status = $2 where board_id = $1`, id, to); err != nil || was == to {
			return err
		}
		return writeAudit(ctx, tx, why)
	})
	if err != nil {
		return nil, translate(fmt.Errorf("set the status of board %s: %w", id, err))
	}
	return b, nil
}
