package boards

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// instancesAhead is how many periods are made before they begin, so that
// midnight finds the next one ranked and waiting.
const instancesAhead = 2

// MakeInstances makes the current instance of a family and those ahead, where
// they are not there, and returns what it made. Seasons are made by whoever
// names them.
func (s *Boards) MakeInstances(ctx context.Context, family *scoreboard.Board) (made []scoreboard.BoardID, err error) {
	return s.makeInstances(ctx, family, nil)
}

// MissingInstances says what MakeInstances would make.
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
		return nil, pg.Translate(fmt.Errorf("make the instances of board %s: %w", family.ID, err))
	}
	return made, nil
}

func makeAhead(ctx context.Context, tx pgx.Tx, family *scoreboard.Board) (made []scoreboard.BoardID, err error) {
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

// makeInstance makes one instance; a conflict where there is one of this name.
func makeInstance(ctx context.Context, tx pgx.Tx, family *scoreboard.Board, span scoreboard.Span) error {
	fresh, err := insertInstance(ctx, tx, family, span)
	if err == nil && !fresh {
		return scoreboard.Errorf(scoreboard.CodeConflict, "board %s already exists", family.ID.Instance(span))
	}
	return err
}

func insertInstance(
	ctx context.Context,
	tx pgx.Tx,
	family *scoreboard.Board,
	span scoreboard.Span,
) (fresh bool, err error) {
	err = tx.QueryRow(ctx, `select create_board_instance($1, $2, $3, $4)`, family.ID, family.ID.Instance(span), span.Start, span.End).
		Scan(&fresh)
	return fresh, err
}
