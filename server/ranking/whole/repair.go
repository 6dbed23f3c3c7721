package whole

import (
	"context"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// States returns the stored states of users.
func (r *Boards) States(
	ctx context.Context, l piece.Layout, users []scoreboard.UserID,
) ([]scoreboard.RankedState, error) {
	return r.pieces.Read(ctx, l.Board, users)
}

// Repair replaces a wrong state.
func (r *Boards) Repair(
	ctx context.Context, l piece.Layout, correct *scoreboard.Change, wrong scoreboard.RankedState,
) (bool, error) {
	return r.pieces.Repair(ctx, r.pieces.RepairScript, l.Board, correct, wrong)
}

// Remove removes an orphaned member.
func (r *Boards) Remove(ctx context.Context, l piece.Layout, s scoreboard.OrphanedMember) (bool, error) {
	removed, err := r.pieces.OrphansOf(ctx, r.pieces.OrphansScript, l.Board, true, []string{s.Member})
	return len(removed) > 0, err
}
