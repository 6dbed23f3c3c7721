package boards

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Closing a board waits for the transactions that write to it, and later writers
// queue behind it. Each attempt is therefore short, and all together last longer
// than a writer's transaction may.
const (
	closeWait    = 50 * time.Millisecond // half of a writer's lock wait
	closeTimeout = 10 * time.Second
)

// exclusively runs do while no transaction writes to a board or its instances.
func (s *Boards) exclusively(ctx context.Context, family scoreboard.BoardID, do func(pgx.Tx) error) error {
	deadline := time.Now().Add(closeTimeout)
	for {
		err := s.db.TxWithLockTimeout(ctx, closeWait, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended($1, 0))`, family); err != nil {
				return err
			}
			return do(tx)
		})
		if pg.Code(err) != pg.LockNotAvailable || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(closeWait/2 + rand.N(closeWait)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// FreezeBoard rejects writes to a board: when it returns, no transaction that
// writes to it is running. Freezing a family applies to all its periods,
// including future ones.
func (s *Boards) FreezeBoard(
	ctx context.Context,
	id scoreboard.BoardID,
	audit *scoreboard.AuditEntry,
) (*scoreboard.Board, error) {
	return s.setStatus(ctx, id, scoreboard.StatusFrozen, audit, func(b *scoreboard.Board) error {
		if b.Status == scoreboard.StatusArchived {
			return scoreboard.Errorf(wire.CodeConflict, "board %s is archived", b.ID)
		}
		return nil
	})
}

// UnfreezeBoard accepts writes again. A closed period stays closed: a conflict.
func (s *Boards) UnfreezeBoard(
	ctx context.Context,
	id scoreboard.BoardID,
	audit *scoreboard.AuditEntry,
) (*scoreboard.Board, error) {
	return s.setStatus(ctx, id, scoreboard.StatusActive, audit, func(b *scoreboard.Board) error {
		if b.Status == scoreboard.StatusArchived {
			return scoreboard.Errorf(wire.CodeConflict, "board %s is archived", b.ID)
		}
		if !b.Closed.IsZero() {
			return scoreboard.Errorf(
				wire.CodeConflict,
				"the period of board %s is closed and its standings are final",
				b.ID,
			)
		}
		return nil
	})
}

// ArchiveBoard archives a board permanently: it rejects writes, leaves the
// ranking, and is read from the store. The instances of a family are archived with
// it; those that have begun are still closed when they end.
func (s *Boards) ArchiveBoard(
	ctx context.Context,
	id scoreboard.BoardID,
	audit *scoreboard.AuditEntry,
) (*scoreboard.Board, error) {
	return s.setStatus(ctx, id, scoreboard.StatusArchived, audit, func(*scoreboard.Board) error { return nil })
}

// A period that never begins has no end to announce.
const sqlArchiveInstances = `update boards set status = 'archived',
    closed_at = case when closed_at is null and period_start > clock_timestamp() then clock_timestamp()
        else closed_at end,
    announced_at = case when closed_at is null and period_start > clock_timestamp() then clock_timestamp()
        else announced_at end
where family_id = $1 and board_id <> family_id`

// setStatus changes a board's status if check, called under the lock, allows it.
// If the board already has the status, no audit entry is written.
func (s *Boards) setStatus(
	ctx context.Context,
	id scoreboard.BoardID,
	to scoreboard.Status,
	audit *scoreboard.AuditEntry,
	check func(*scoreboard.Board) error,
) (b *scoreboard.Board, err error) {
	if b, err = s.FindBoard(ctx, id); err != nil {
		return nil, err
	}
	err = s.exclusively(ctx, b.Family, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockRules); err != nil {
			return err
		}
		if b, err = pg.FindBoard(ctx, tx, id); err != nil {
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
		if to == scoreboard.StatusActive && b.Team != nil { // for what has changed meanwhile
			if _, err := tx.Exec(ctx, `insert into team_changes (board_id) values ($1)`, id); err != nil {
				return err
			}
		}
		was := b.Status
		b.Status = to
		if _, err := tx.Exec(
			ctx,
			`update boards set status = $2 where board_id = $1`,
			id,
			to,
		); err != nil ||
			was == to {
			return err
		}
		if ruled, err := hasRule(ctx, tx, id); err != nil {
			return err
		} else if ruled { // of boards that are not active rules are not in force
			if _, err := tx.Exec(ctx, sqlRulesChanged, scoreboard.GlobalBoard); err != nil {
				return err
			}
		}
		return pg.WriteAudit(ctx, tx, audit)
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("set the status of board %s: %w", id, err))
	}
	return b, nil
}
