package ranking

import (
	"context"
	"errors"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// boards are what boards in one piece, and boards in partitions, answer and let repair. The layout of a
// board in one piece is one partition.
type boards interface {
	Top(ctx context.Context, l piece.Layout) (*scoreboard.Top, error)
	Around(
		ctx context.Context, l piece.Layout, at *scoreboard.Position, before, behind int,
	) (*scoreboard.Top, error)
	Place(ctx context.Context, l piece.Layout, user scoreboard.UserID, k int) (*scoreboard.Place, error)
	List(ctx context.Context, l piece.Layout, users []scoreboard.UserID) (*scoreboard.List, error)
	// Ranks ranks users by the keys of standings that were just recorded, nil for the current rank.
	Ranks(ctx context.Context, l piece.Layout, users []scoreboard.UserID, keys []*piece.Keys) ([]*int64, error)
	States(ctx context.Context, l piece.Layout, users []scoreboard.UserID) ([]scoreboard.RankedState, error)
	Repair(
		ctx context.Context, l piece.Layout, correct *scoreboard.Change, wrong scoreboard.RankedState,
	) (bool, error)
	Remove(ctx context.Context, l piece.Layout, s scoreboard.OrphanedMember) (bool, error)
	Status(ctx context.Context, l piece.Layout) (*scoreboard.RankingStatus, error)
}

// onLayout calls do for a board as it is laid out.
func onLayout[T any](
	ctx context.Context, r *Ranking, board scoreboard.BoardID, do func(boards, piece.Layout) (T, error),
) (T, error) {
	one := piece.Layout{Board: board, Count: 1}
	l, ok := r.layouts.Known(board)
	if !ok {
		v, err := do(r.whole, one)
		if !piece.IsDivided(err) {
			return v, err
		}
		if l, ok, err = r.layouts.Learn(ctx, board); err == nil && !ok || piece.IsBroken(err) {
			err = scoreboard.ErrNotLoaded // it was replaced meanwhile, or is broken
		}
		if err != nil {
			return v, err
		}
	}
	v, err := do(r.partitions, l)
	if piece.IsBroken(err) {
		err = scoreboard.ErrNotLoaded
	}
	if !errors.Is(err, scoreboard.ErrNotLoaded) {
		return v, err
	}
	now, ok, learnErr := r.layouts.Learn(ctx, board) // a rebuild may have laid it out otherwise
	switch {
	case learnErr != nil || ok && now == l:
		return v, err
	case ok:
		return do(r.partitions, now)
	}
	return do(r.whole, one)
}

// onRanks calls do as onLayout does, to read ranks.
func onRanks[T any](
	ctx context.Context, r *Ranking, board *scoreboard.Board, do func(boards, piece.Layout) (T, error),
) (T, error) {
	return onLayout(ctx, r, board.ID, func(b boards, l piece.Layout) (T, error) {
		l.Shared, l.Subscore = board.SharesRanks(), board.Subscore
		return do(b, l)
	})
}

// Top returns the merged top of a board, or scoreboard.ErrNotLoaded.
func (r *Ranking) Top(ctx context.Context, board *scoreboard.Board) (*scoreboard.Top, error) {
	return onRanks(ctx, r, board, func(b boards, l piece.Layout) (*scoreboard.Top, error) { return b.Top(ctx, l) })
}

// Page returns up to limit standings behind a position, which need not be taken,
// or scoreboard.ErrNotLoaded.
func (r *Ranking) Page(
	ctx context.Context,
	board *scoreboard.Board,
	after *scoreboard.Position,
	limit int,
) (*scoreboard.Top, error) {
	return r.Around(ctx, board, after, 0, limit)
}

// Around returns up to before standings at or ahead of a position, which need not be taken, and up to
// behind standings behind it, or scoreboard.ErrNotLoaded.
func (r *Ranking) Around(
	ctx context.Context,
	board *scoreboard.Board,
	at *scoreboard.Position,
	before, behind int,
) (*scoreboard.Top, error) {
	return onRanks(ctx, r, board, func(b boards, l piece.Layout) (*scoreboard.Top, error) {
		return b.Around(ctx, l, at, before, behind)
	})
}

// Place returns a user's standing with k neighbours on each side (nil if k is 0),
// a not_found where the user is not ranked, or scoreboard.ErrNotLoaded.
func (r *Ranking) Place(
	ctx context.Context,
	board *scoreboard.Board,
	user scoreboard.UserID,
	k int,
) (*scoreboard.Place, error) {
	return onRanks(ctx, r, board, func(b boards, l piece.Layout) (*scoreboard.Place, error) {
		return b.Place(ctx, l, user, k)
	})
}

// List returns the standings of users, all at one version, or scoreboard.ErrNotLoaded.
func (r *Ranking) List(
	ctx context.Context,
	board *scoreboard.Board,
	users []scoreboard.UserID,
) (*scoreboard.List, error) {
	return onRanks(ctx, r, board, func(b boards, l piece.Layout) (*scoreboard.List, error) {
		return b.List(ctx, l, users)
	})
}

// Ranks returns a 1-based rank for each user, or nil where one is not ranked;
// scoreboard.ErrNotLoaded where the board is not loaded. A pair is a standing that may
// not have been applied yet; a nil pair means the current rank.
func (r *Ranking) Ranks(
	ctx context.Context,
	board *scoreboard.Board,
	users []scoreboard.UserID,
	pairs []*scoreboard.Pair,
) ([]*int64, error) {
	keys, all := make([]*piece.Keys, len(users)), make([]piece.Keys, len(users))
	for i, pair := range pairs {
		if pair != nil {
			keys[i] = &all[i]
			all[i].Key, all[i].SubKey = board.Keys(*pair)
		}
	}
	return onRanks(ctx, r, board, func(b boards, l piece.Layout) ([]*int64, error) {
		return b.Ranks(ctx, l, users, keys)
	})
}
