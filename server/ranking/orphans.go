package ranking

import (
	"context"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// OrphanedMembers calls do with the members of a board's sorted set that belong to
// no user's state, in chunks.
func (r *Ranking) OrphanedMembers(
	ctx context.Context,
	board scoreboard.BoardID,
	do func([]scoreboard.OrphanedMember) error,
) error {
	names, err := r.layouts.Pieces(ctx, board)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := r.pieces.Orphans(ctx, name, do); err != nil {
			return err
		}
	}
	return nil
}

// Remove removes a member of the sorted set if it is still orphaned.
func (r *Ranking) Remove(ctx context.Context, board scoreboard.BoardID, s scoreboard.OrphanedMember) (bool, error) {
	return onLayout(ctx, r, board, func(b boards, l piece.Layout) (bool, error) { return b.Remove(ctx, l, s) })
}
