package admin

import (
	"context"
	"log/slog"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/store/boards"
	"github.com/scoreboard/scoreboard/server/upkeep"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

// Boards changes boards. When a call returns, this node knows the change and the
// board is ranked.
type Boards struct {
	*boards.Boards
	Catalog   *store.Catalog
	Rebuilder *repair.Rebuilder
	Rollover  *upkeep.Rollover
	Log       *slog.Logger
	// Plain is the board of the dialect plain, which does not record all that is submitted; "": it is not
	// enabled.
	Plain scoreboard.BoardID
}

// checkAttempts returns an invalid_request if a board that cannot have attempts is to get them.
func (b Boards) checkAttempts(id scoreboard.BoardID, attempts int64) error {
	if attempts == 0 || id != b.Plain {
		return nil
	}
	return scoreboard.Invalid("attempts",
		"board %s is that of the dialect plain, which records improvements only: its attempts cannot be counted", id)
}

// CreateBoard implements api.Boards.
func (b Boards) CreateBoard(
	ctx context.Context, board *scoreboard.Board, season *scoreboard.Span, why *scoreboard.AuditEntry,
) (*scoreboard.Board, error) {
	if err := b.checkAttempts(board.ID, board.Attempts); err != nil {
		return nil, err
	}
	return b.changed(ctx)(b.Boards.CreateBoard(ctx, board, season, why))
}

// PreviewBoard implements api.Boards.
func (b Boards) PreviewBoard(
	ctx context.Context, board *scoreboard.Board, season *scoreboard.Span,
) (*scoreboard.Board, error) {
	if err := b.checkAttempts(board.ID, board.Attempts); err != nil {
		return nil, err
	}
	return b.Boards.PreviewBoard(ctx, board, season)
}

// FreezeBoard implements api.Boards.
func (b Boards) FreezeBoard(
	ctx context.Context, id scoreboard.BoardID, why *scoreboard.AuditEntry,
) (*scoreboard.Board, error) {
	return b.changed(ctx)(b.Boards.FreezeBoard(ctx, id, why))
}

// UnfreezeBoard implements api.Boards.
func (b Boards) UnfreezeBoard(
	ctx context.Context, id scoreboard.BoardID, why *scoreboard.AuditEntry,
) (*scoreboard.Board, error) {
	return b.changed(ctx)(b.Boards.UnfreezeBoard(ctx, id, why))
}

// ChangeBoard implements api.Boards.
func (b Boards) ChangeBoard(
	ctx context.Context, id scoreboard.BoardID, change *scoreboard.BoardChange, why *scoreboard.AuditEntry,
) (*scoreboard.Board, error) {
	if bounds := change.Bounds; bounds != nil && bounds.Attempts != nil {
		if err := b.checkAttempts(id, *bounds.Attempts); err != nil {
			return nil, err
		}
	}
	made, err := b.changed(ctx)(b.Boards.ChangeBoard(ctx, id, change, why))
	if err == nil && change.Partitions != nil {
		b.Rebuilder.Trigger()
	}
	return made, err
}

// ArchiveBoard implements api.Boards.
func (b Boards) ArchiveBoard(
	ctx context.Context, id scoreboard.BoardID, why *scoreboard.AuditEntry,
) (*scoreboard.Board, error) {
	return b.changed(ctx)(b.Boards.ArchiveBoard(ctx, id, why))
}

// Roll rolls over every period that has ended, of one board or of all.
func (b Boards) Roll(
	ctx context.Context, family scoreboard.BoardID, dry bool,
) (made []scoreboard.BoardID, ended []scoreboard.EndedPeriod, err error) {
	made, ended, err = b.Rollover.Roll(ctx, family, dry)
	if err == nil && !dry {
		b.refresh(ctx, family)
	}
	return made, ended, err
}

// BeginSeason implements api.Boards.
func (b Boards) BeginSeason(
	ctx context.Context, family scoreboard.BoardID, season scoreboard.Span, dry bool, why *scoreboard.AuditEntry,
) (*scoreboard.BoardID, error) {
	ended, err := b.Boards.BeginSeason(ctx, family, season, dry, why)
	if err == nil && !dry {
		b.refresh(ctx, family)
	}
	return ended, err
}

// changed refreshes the board that a change in the store returned.
func (b Boards) changed(ctx context.Context) func(*scoreboard.Board, error) (*scoreboard.Board, error) {
	return func(board *scoreboard.Board, err error) (*scoreboard.Board, error) {
		if err == nil {
			b.refresh(ctx, board.Family)
		}
		return board, err
	}
}

// refresh reads the catalog again and has the rankings of a family of boards, or
// of all boards, follow it. The rebuilder retries what fails here.
func (b Boards) refresh(ctx context.Context, family scoreboard.BoardID) {
	err := b.Catalog.Refresh(ctx)
	if err == nil {
		err = b.Rebuilder.Sync(ctx, family)
	}
	if err != nil {
		b.Log.Warn("rankings do not reflect the changed board yet", "board", family, "err", err)
	}
}
