package partitions

import (
	"context"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// States returns the stored states of users.
func (r *Boards) States(
	ctx context.Context, l piece.Layout, users []scoreboard.UserID,
) ([]scoreboard.RankedState, error) {
	states := make([]scoreboard.RankedState, len(users))
	mine, index := l.Divide(users)
	for of, some := range mine {
		if len(some) == 0 {
			continue
		}
		found, err := r.pieces.Read(ctx, l.Part(of), some)
		if err != nil {
			return nil, err
		}
		for j, i := range index[of] {
			states[i] = found[j]
		}
	}
	return states, nil
}

// Repair replaces a wrong state, and merges the top.
func (r *Boards) Repair(
	ctx context.Context, l piece.Layout, correct *scoreboard.Change, wrong scoreboard.RankedState,
) (bool, error) {
	repaired, err := r.pieces.Repair(ctx, r.pieces.QuietRepair, l.Part(l.Of(correct.User)), correct, wrong)
	if err != nil || !repaired {
		return false, err
	}
	return true, r.MergeTop(ctx, l, &Merging{Applied: true, moved: piece.AppendMoved(nil, correct)})
}

// Remove removes an orphaned member, and merges the top.
func (r *Boards) Remove(ctx context.Context, l piece.Layout, s scoreboard.OrphanedMember) (bool, error) {
	removed, err := r.pieces.OrphansOf(ctx, r.pieces.QuietOrphans, l.Part(l.Of(s.User)), true, []string{s.Member})
	if err != nil || len(removed) == 0 {
		return false, err
	}
	return true, r.MergeTop(ctx, l, &Merging{Applied: true})
}
