package server

import (
	"context"
	"log/slog"

	"github.com/scoreboard/scoreboard/server/ranking"
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
	ranking *ranking.Ranking
	log     *slog.Logger
}

func (b boards) CreateBoard(ctx context.Context, board *scoreboard.Board, season *scoreboard.Span) (*scoreboard.Board, error) {
	made, err := b.Store.CreateBoard(ctx, board, season)
	if err != nil {
		return nil, err
	}
	b.settle(ctx, made.Family)
	return made, nil
}

// settle takes a change of a board and its instances in. What it cannot do now
// the keeper does later.
func (b boards) settle(ctx context.Context, family scoreboard.BoardID) {
	err := b.catalog.Refresh(ctx)
	if err == nil {
		err = b.rank(ctx, family)
	}
	if err != nil {
		b.log.Warn("board is not ranked yet", "board", family, "err", err)
	}
}

// rank builds what the ranking does not hold of a family.
func (b boards) rank(ctx context.Context, family scoreboard.BoardID) error {
	ranked, err := repair.Ranked(ctx, b.catalog)
	if err != nil {
		return err
	}
	var mine []scoreboard.Board
	for _, board := range ranked {
		if board.Family == family {
			mine = append(mine, board)
		}
	}
	cold, _, err := b.ranking.Lost(ctx, mine)
	if err != nil {
		return err
	}
	for i := range cold {
		_, err := repair.Rebuild(ctx, b.Store, b.ranking, &cold[i], func(int64) {})
		if err != nil && scoreboard.CodeOf(err) != scoreboard.CodeConflict { // then another is at it
			return err
		}
	}
	return nil
}
