package ranking

import (
	"context"
	"errors"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// boards are what boards in one piece, and boards in partitions, answer and let repair. The layout of a
// board in one piece is one partition.
type boards interface {
	readTop(ctx context.Context, l layout) (*scoreboard.Top, error)
	readPage(ctx context.Context, l layout, after *scoreboard.Position, limit int) (*scoreboard.Top, error)
	readPlace(ctx context.Context, l layout, user scoreboard.UserID, k int) (*scoreboard.Place, error)
	readList(ctx context.Context, l layout, users []scoreboard.UserID) (*scoreboard.List, error)
	// readRanks ranks users by the keys of standings that were just recorded, nil for the current rank.
	readRanks(ctx context.Context, l layout, users []scoreboard.UserID, keys []*int64) ([]*int64, error)
	readStates(ctx context.Context, l layout, users []scoreboard.UserID) ([]scoreboard.RankedState, error)
	repairState(
		ctx context.Context, l layout, correct *scoreboard.Change, wrong scoreboard.RankedState,
	) (bool, error)
	removeMember(ctx context.Context, l layout, s scoreboard.OrphanedMember) (bool, error)
	readStatus(ctx context.Context, l layout) (*scoreboard.RankingStatus, error)
}

// onLayout calls do for a board as it is laid out.
func onLayout[T any](
	ctx context.Context, r *Ranking, board scoreboard.BoardID, do func(boards, layout) (T, error),
) (T, error) {
	one := layout{board, 1}
	l, ok := r.layouts.layout(board)
	if !ok {
		v, err := do(r.whole, one)
		if !isDivided(err) {
			return v, err
		}
		if l, ok, err = r.layouts.learn(ctx, board); err == nil && !ok {
			err = scoreboard.ErrNotLoaded // it was replaced meanwhile
		}
		if err != nil {
			return v, err
		}
	}
	v, err := do(r.partitions, l)
	if !errors.Is(err, scoreboard.ErrNotLoaded) {
		return v, err
	}
	now, ok, learnErr := r.layouts.learn(ctx, board) // a rebuild may have laid it out otherwise
	switch {
	case learnErr != nil || ok && now == l:
		return v, err
	case ok:
		return do(r.partitions, now)
	}
	return do(r.whole, one)
}

// Top returns the head of a board, or scoreboard.ErrNotLoaded.
func (r *Ranking) Top(ctx context.Context, board scoreboard.BoardID) (*scoreboard.Top, error) {
	return onLayout(ctx, r, board, func(b boards, l layout) (*scoreboard.Top, error) { return b.readTop(ctx, l) })
}

// Page returns up to limit standings behind a position, which need not be taken,
// or scoreboard.ErrNotLoaded.
func (r *Ranking) Page(
	ctx context.Context,
	board scoreboard.BoardID,
	after *scoreboard.Position,
	limit int,
) (*scoreboard.Top, error) {
	return onLayout(ctx, r, board, func(b boards, l layout) (*scoreboard.Top, error) {
		return b.readPage(ctx, l, after, limit)
	})
}

// Place returns a user's standing with k neighbours on each side (nil if k is 0),
// a not_found where the user is not ranked, or scoreboard.ErrNotLoaded.
func (r *Ranking) Place(
	ctx context.Context,
	board scoreboard.BoardID,
	user scoreboard.UserID,
	k int,
) (*scoreboard.Place, error) {
	return onLayout(ctx, r, board, func(b boards, l layout) (*scoreboard.Place, error) {
		return b.readPlace(ctx, l, user, k)
	})
}

// List returns the standings of users, all at one version, or scoreboard.ErrNotLoaded.
func (r *Ranking) List(
	ctx context.Context,
	board scoreboard.BoardID,
	users []scoreboard.UserID,
) (*scoreboard.List, error) {
	return onLayout(ctx, r, board, func(b boards, l layout) (*scoreboard.List, error) {
		return b.readList(ctx, l, users)
	})
}

// Ranks returns a 1-based rank for each user, or nil where one is not ranked;
// scoreboard.ErrNotLoaded where the board is not loaded. A score is a standing that may
// not have been applied yet; a nil score means the current rank.
func (r *Ranking) Ranks(
	ctx context.Context,
	board *scoreboard.Board,
	users []scoreboard.UserID,
	scores []*scoreboard.Score,
) ([]*int64, error) {
	keys := make([]*int64, len(users))
	for i, score := range scores {
		if score != nil {
			key := board.Order.Key(*score)
			keys[i] = &key
		}
	}
	return onLayout(ctx, r, board.ID, func(b boards, l layout) ([]*int64, error) {
		return b.readRanks(ctx, l, users, keys)
	})
}
