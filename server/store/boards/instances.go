package boards

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// instancesAhead is how many periods are created before they begin, so that the
// next one is already ranked when it does.
const instancesAhead = 2

// MakeInstances creates the current instance of a family and those ahead if they
// are missing, and returns the created ones. It creates no seasons: operators
// name those.
func (s *Boards) MakeInstances(ctx context.Context, family *scoreboard.Board) (made []scoreboard.BoardID, err error) {
	return s.makeInstances(ctx, family, nil)
}

// MissingInstances lists what MakeInstances would create.
func (s *Boards) MissingInstances(
	ctx context.Context,
	family *scoreboard.Board,
) (missing []scoreboard.BoardID, err error) {
	return s.makeInstances(ctx, family, errDry)
}

func (s *Boards) makeInstances(
	ctx context.Context,
	family *scoreboard.Board,
	end error,
) (made []scoreboard.BoardID, err error) {
	if family.Period == scoreboard.PeriodSeason {
		return nil, nil
	}
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if made, err = makeAhead(ctx, tx, family); err != nil {
			return err
		}
		return end
	})
	if err != nil && !errors.Is(err, errDry) {
		return nil, pg.Translate(fmt.Errorf("create the instances of board %s: %w", family.ID, err))
	}
	return made, nil
}

// lockFamily locks a family before an instance is created, which gets the family's
// properties: a change of those waits, or is waited for. Without it, the instance could
// miss a change that was answered.
func lockFamily(ctx context.Context, tx pgx.Tx, family scoreboard.BoardID) error {
	_, err := tx.Exec(ctx, `select 1 from boards where board_id = $1 for share`, family)
	return err
}

func makeAhead(ctx context.Context, tx pgx.Tx, family *scoreboard.Board) (made []scoreboard.BoardID, err error) {
	if err := lockFamily(ctx, tx, family.ID); err != nil {
		return nil, err
	}
	var at time.Time
	if err := tx.QueryRow(ctx, `select clock_timestamp()`).Scan(&at); err != nil {
		return nil, err
	}
	for range 1 + instancesAhead {
		span, err := family.SpanAt(at)
		if err != nil {
			return nil, err
		}
		fresh, err := insertInstance(ctx, tx, family, span)
		if err != nil {
			return nil, err
		}
		if fresh {
			made = append(made, family.ID.Instance(span))
		}
		at = span.End
	}
	return made, nil
}

// makeInstance creates one instance; a conflict if the name is taken.
func makeInstance(ctx context.Context, tx pgx.Tx, family *scoreboard.Board, span scoreboard.Span) error {
	fresh, err := insertInstance(ctx, tx, family, span)
	if err == nil && !fresh {
		return scoreboard.Errorf(wire.CodeConflict, "board %s already exists", family.ID.Instance(span))
	}
	return err
}

func insertInstance(
	ctx context.Context,
	tx pgx.Tx,
	family *scoreboard.Board,
	span scoreboard.Span,
) (fresh bool, err error) {
	err = tx.QueryRow(ctx, `select create_board_instance($1, $2, $3, $4)`,
		family.ID, family.ID.Instance(span), span.Start, span.End).
		Scan(&fresh)
	return fresh, err
}
