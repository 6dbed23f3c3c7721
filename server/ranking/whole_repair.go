package ranking

import (
	"context"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func (r *whole) readStates(
	ctx context.Context, l layout, users []scoreboard.UserID,
) ([]scoreboard.RankedState, error) {
	return r.pieces.statesIn(ctx, l.board, users)
}

func (r *whole) repairState(
	ctx context.Context, l layout, correct *scoreboard.Change, wrong scoreboard.RankedState,
) (bool, error) {
	return r.pieces.repairIn(ctx, r.pieces.repair, l.board, correct, wrong)
}

func (r *whole) removeMember(ctx context.Context, l layout, s scoreboard.OrphanedMember) (bool, error) {
	removed, err := r.pieces.orphansOf(ctx, r.pieces.orphans, l.board, true, []string{s.Member})
	return len(removed) > 0, err
}
