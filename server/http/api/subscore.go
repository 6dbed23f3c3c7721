package api

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// subscoreBoards tells on which boards receipts and events have subscores.
type subscoreBoards struct{ catalog Catalog }

// on reports whether a board has subscores. A period has them where its family does, and the
// catalog knows the families. That never changes, so any state of a family will do; one that another
// node has just created is looked up.
func (s subscoreBoards) on(ctx context.Context, id scoreboard.BoardID) bool {
	b, err := s.catalog.Named(ctx, id.Family(), true, time.Now())
	return err == nil && b.HasSubscores()
}

// subscoreJSON is a subscore of a board; nil if the board has none.
func subscoreJSON(b *scoreboard.Board, subscore scoreboard.Score) *int64 {
	if !b.HasSubscores() {
		return nil
	}
	return new(int64(subscore))
}

// entriesJSON converts rows of a board to their wire format.
func entriesJSON(b *scoreboard.Board, rows []scoreboard.Entry) []wire.Entry {
	return protocol.EntriesOf(b.HasSubscores(), rows)
}

// parseSubscores sets which subscores a new board has, and their bounds.
func parseSubscores(b *scoreboard.Board, r *wire.BoardRequest) (err error) {
	if b.Subscore, err = scoreboard.ParseSubscores(r.Subscore); err != nil {
		return err
	}
	if !b.HasSubscores() {
		if r.MinSubscore != nil || r.MaxSubscore != nil {
			return scoreboard.Invalid("subscore", "min_subscore and max_subscore require subscore highest or lowest")
		}
		return nil
	}
	b.MinSubscore, b.MaxSubscore = -scoreboard.MaxScore, scoreboard.MaxScore
	override((*int64)(&b.MinSubscore), r.MinSubscore)
	override((*int64)(&b.MaxSubscore), r.MaxSubscore)
	return nil
}
