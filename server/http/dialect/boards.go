package dialect

import (
	"context"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// boardsOf returns the boards of the dialects that are enabled, as they are created where
// they are missing: scores from 0 to 2^53 − 1 where the specification says that a score
// is kept if it is higher.
func boardsOf(c *config.Dialects) []scoreboard.Board {
	var boards []scoreboard.Board
	for _, name := range config.DialectNames {
		if !c.Has(name) {
			continue
		}
		b := scoreboard.Board{
			ID: scoreboard.BoardID(c.Named(name).Board), Mode: scoreboard.ModeIncrement,
			Order: scoreboard.OrderHighest, Public: true, TimeZone: "UTC",
			Period: scoreboard.PeriodNone, WeekStart: time.Monday,
			MinDelta: 1, MaxDelta: 1_000_000, MinScore: -scoreboard.MaxScore, MaxScore: scoreboard.MaxScore,
		}
		if name == config.DialectHighscore || name == config.DialectPlain {
			b.Mode, b.MinDelta, b.MaxDelta, b.MinScore = scoreboard.ModeBest, 0, scoreboard.MaxScore, 0
		}
		if name == config.DialectHighscore {
			b.Period, b.Require.MinActionTime = scoreboard.PeriodMonthly, c.ActionMin
		}
		boards = append(boards, b)
	}
	return boards
}

// Creator creates boards; see api.Boards.
type Creator interface {
	CreateBoard(
		ctx context.Context, b *scoreboard.Board, season *scoreboard.Span, why *scoreboard.AuditEntry,
	) (*scoreboard.Board, error)
	ChangeBoard(
		ctx context.Context, id scoreboard.BoardID, change *scoreboard.BoardChange, why *scoreboard.AuditEntry,
	) (*scoreboard.Board, error)
	FindBoard(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error)
}

// findOrCreate returns a board, which another node may create at the same time.
func findOrCreate(ctx context.Context, b *scoreboard.Board, boards Creator) (*scoreboard.Board, error) {
	found, err := boards.FindBoard(ctx, b.ID)
	if wire.CodeOf(err) == wire.CodeNotFound {
		found, err = boards.CreateBoard(ctx, b, nil, &scoreboard.AuditEntry{
			Actor: scoreboard.SystemActor, Action: "board.create", Target: "board:" + string(b.ID),
			Reason: "an enabled dialect needs it",
		})
		if wire.CodeOf(err) == wire.CodeConflict {
			found, err = boards.FindBoard(ctx, b.ID)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("find or create board %s: %w", b.ID, err)
	}
	return found, nil
}

// EnsureBoards creates the boards of the enabled dialects that do not exist, and gives that of
// delta the bounds of its settings. It fails if
// one exists that does not keep scores as its dialect says.
func EnsureBoards(ctx context.Context, c *config.Dialects, boards Creator) error {
	for _, b := range boardsOf(c) {
		found, err := findOrCreate(ctx, &b, boards)
		if err != nil {
			return err
		}
		if found.Mode != b.Mode || b.Mode == scoreboard.ModeBest && found.Order != b.Order {
			return fmt.Errorf("board %s has mode %s and order %s, and its dialect requires mode %s and order %s: "+
				"name another one in dialect.NAME.board", b.ID, found.Mode, found.Order, b.Mode, b.Order)
		}
		if found.Attempts > 0 && string(b.ID) == c.Plain.Board && c.Has(config.DialectPlain) {
			return fmt.Errorf("board %s limits the attempts of users, which the dialect plain cannot count: set them "+
				"to 0, or name another board in dialect.plain.board", b.ID)
		}
	}
	return setBounds(ctx, c, boards)
}

// setBounds gives the board of delta the bounds that are set for it, unless it has them.
func setBounds(ctx context.Context, c *config.Dialects, boards Creator) error {
	change := &scoreboard.BoundsChange{}
	change.MinDelta, change.MaxDelta = c.DeltaBounds()
	if !c.Has(config.DialectDelta) || *change == (scoreboard.BoundsChange{}) {
		return nil
	}
	b, err := boards.FindBoard(ctx, scoreboard.BoardID(c.Delta.Board))
	if err != nil {
		return fmt.Errorf("find board %s: %w", c.Delta.Board, err)
	}
	changed, err := change.Apply(b)
	if err == nil && changed {
		_, err = boards.ChangeBoard(ctx, b.ID, &scoreboard.BoardChange{Bounds: change}, &scoreboard.AuditEntry{
			Actor: scoreboard.SystemActor, Action: "board.set", Target: "board:" + string(b.ID),
			Reason: fmt.Sprintf("dialect.delta.min_delta and dialect.delta.max_delta: %d to %d", b.MinDelta,
				b.MaxDelta),
		})
	}
	if err != nil {
		return fmt.Errorf("set the bounds of board %s: %w", b.ID, err)
	}
	return nil
}
