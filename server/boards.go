package server

import (
	"context"
	"log/slog"

	"github.com/scoreboard/scoreboard/server/repair"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// boards are the boards as the API sees them: what changes in the store is
// known to this node and ranked when the call returns. Other nodes and the
// keeper find out by themselves, within a second or two.
type boards struct {
	*store.Store
	catalog *store.Catalog
	keeper  *repair.Keeper
	log     *slog.Logger
}

func (b boards) CreateBoard(ctx context.Context, board *scoreboard.Board, season *scoreboard.Span) (*scoreboard.Board, error) {
	return b.changed(ctx)(b.Store.CreateBoard(ctx, board, season))
}

func (b boards) FreezeBoard(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	return b.changed(ctx)(b.Store.FreezeBoard(ctx, id))
}

func (b boards) UnfreezeBoard(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	return b.changed(ctx)(b.Store.UnfreezeBoard(ctx, id))
}

func (b boards) ArchiveBoard(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	return b.changed(ctx)(b.Store.ArchiveBoard(ctx, id))
}

// changed settles what a change of a board returned.
func (b boards) changed(ctx context.Context) func(*scoreboard.Board, error) (*scoreboard.Board, error) {
	return func(board *scoreboard.Board, err error) (*scoreboard.Board, error) {
		if err == nil {
			b.settle(ctx, board.Family)
		}
		return board, err
	}
}

// settle takes a change of a board and its instances in. What it cannot do now
// the keeper does later.
func (b boards) settle(ctx context.Context, family scoreboard.BoardID) {
	err := b.catalog.Refresh(ctx)
	if err == nil {
		err = b.keeper.Settle(ctx, family)
	}
	if err != nil {
		b.log.Warn("ranking is not as the boards are yet", "board", family, "err", err)
	}
}
