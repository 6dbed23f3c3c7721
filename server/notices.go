package server

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// rankedNotices is a ranking whose notices have shared ranks on the boards that share them: Redis
// has only the order of a board.
type rankedNotices struct {
	*ranking.Ranking
	catalog *store.Catalog
}

// boardLookup bounds how long a notice of a board that this process does not know yet waits.
const boardLookup = time.Second

// Follow calls do with every notice until ctx ends. One whose board cannot be looked up has no rows,
// as if its top had not changed: readers then get the change from the ranking.
func (r rankedNotices) Follow(ctx context.Context, do func(scoreboard.Notice), bad func(error)) error {
	return r.Ranking.Follow(ctx, func(n scoreboard.Notice) {
		if n.Top != nil {
			switch board := r.board(ctx, n.Board); {
			case board == nil:
				n.Top = nil
			case board.SharesRanks():
				scoreboard.ShareRanks(n.Top.Entries, 1)
			}
		}
		do(n)
	}, bad)
}

// board returns a board, nil if it cannot be looked up.
func (r rankedNotices) board(ctx context.Context, id scoreboard.BoardID) *scoreboard.Board {
	board := r.catalog.Known(id)
	if board == nil && !r.catalog.Unavailable() {
		ctx, cancel := context.WithTimeout(ctx, boardLookup)
		defer cancel()
		board, _ = r.catalog.Board(ctx, id) // of which there is none on an error
	}
	return board
}
