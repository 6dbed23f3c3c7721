package ranking

import (
	"context"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// States returns the stored states of users on a board, or scoreboard.ErrNotLoaded.
func (r *Ranking) States(
	ctx context.Context,
	board scoreboard.BoardID,
	users []scoreboard.UserID,
) ([]scoreboard.RankedState, error) {
	return onLayout(ctx, r, board, func(b boards, l piece.Layout) ([]scoreboard.RankedState, error) {
		return b.States(ctx, l, users)
	})
}

// Repair replaces a wrong state by the store's, regardless of revisions, unless it
// has changed since it was read; a revision of 0 removes the user. It reports
// whether it did.
func (r *Ranking) Repair(
	ctx context.Context, correct *scoreboard.Change, wrong scoreboard.RankedState,
) (bool, error) {
	return onLayout(ctx, r, correct.Board, func(b boards, l piece.Layout) (bool, error) {
		return b.Repair(ctx, l, correct, wrong)
	})
}

// Users calls do with all users that have a state on a board, in chunks; a user may
// come twice.
func (r *Ranking) Users(ctx context.Context, board scoreboard.BoardID, do func([]scoreboard.UserID) error) error {
	names, err := r.layouts.Pieces(ctx, board)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := r.pieces.Users(ctx, name, do); err != nil {
			return err
		}
	}
	return nil
}
