package ranking

import (
	"context"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func (r *partitions) readStates(
	ctx context.Context, l layout, users []scoreboard.UserID,
) ([]scoreboard.RankedState, error) {
	states := make([]scoreboard.RankedState, len(users))
	mine, index := l.divide(users)
	for of, some := range mine {
		if len(some) == 0 {
			continue
		}
		found, err := r.pieces.statesIn(ctx, l.part(of), some)
		if err != nil {
			return nil, err
		}
		for j, i := range index[of] {
			states[i] = found[j]
		}
	}
	return states, nil
}

func (r *partitions) repairState(
	ctx context.Context, l layout, correct *scoreboard.Change, wrong scoreboard.RankedState,
) (bool, error) {
	repaired, err := r.pieces.repairIn(ctx, r.pieces.quietRepair, l.part(l.of(correct.User)), correct, wrong)
	if err != nil || !repaired {
		return false, err
	}
	return true, r.mergeHead(ctx, l, &merging{applied: true, moved: appendMoved(nil, correct)})
}

func (r *partitions) removeMember(ctx context.Context, l layout, s scoreboard.OrphanedMember) (bool, error) {
	removed, err := r.pieces.orphansOf(ctx, r.pieces.quietOrphans, l.part(l.of(s.User)), true, []string{s.Member})
	if err != nil || len(removed) == 0 {
		return false, err
	}
	return true, r.mergeHead(ctx, l, &merging{applied: true})
}
