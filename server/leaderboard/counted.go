package leaderboard

import (
	"context"
	"slices"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// score reads a user's score from a store, without a rank; nil without one.
func (l *Leaderboard) score(
	ctx context.Context, from Standings, of *guard, board *scoreboard.Board, user scoreboard.UserID,
) (p *scoreboard.Place, err error) {
	err = of.try(ctx, board.ID, func(ctx context.Context) error {
		found, err := from.Scores(ctx, board, []scoreboard.UserID{user})
		if err == nil && len(found) > 0 {
			p = &found[0]
		}
		return err
	})
	return p, err
}

// standing returns the standing that a score of a store has: counted in the ranking, because the
// store would scan the board, or, if the ranking does not answer, by the store.
func (l *Leaderboard) standing(
	ctx context.Context, from Standings, of *guard, board *scoreboard.Board, score, ranked *scoreboard.Place, k int,
) (p *scoreboard.Place, err error) {
	if board.Status != scoreboard.StatusArchived {
		if p, err = l.count(ctx, board, score, ranked, k); err == nil {
			return p, nil
		}
		l.degrade(board, err)
	}
	err = of.try(ctx, board.ID, func(ctx context.Context) (err error) {
		p, err = from.Place(ctx, board, score.User, k)
		return err
	})
	return p, err
}

// count sets the rank, the total and the k neighbours on each side that a score of the store would
// have in the ranking, which lacks it or has another one of the user. ranked is what the ranking is
// known to have of the user, nil for nothing.
func (l *Leaderboard) count(
	ctx context.Context, board *scoreboard.Board, p, ranked *scoreboard.Place, k int,
) (*scoreboard.Place, error) {
	at := p.Position(board.Order)
	var around *scoreboard.Top
	err := l.reads.try(ctx, board.ID, func(ctx context.Context) (err error) {
		// One more on each side: one of them may be the user.
		around, err = l.ranking.Around(ctx, board.ID, &at, k+1, k+1)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := *p
	out.Rank, out.Total = rankIn(around, &at, board.Order), around.Total+1
	if old := positionIn(around, ranked, p.User, board.Order); old != nil {
		out.Total--
		if old.Compare(&at) <= 0 {
			out.Rank--
		}
	}
	out.AsOf, out.Degraded = around.AsOf, around.Degraded
	if k > 0 {
		out.Neighbours = neighbours(around, &out, &at, board.Order, k)
	}
	return &out, nil
}

// positionIn returns where the ranking has a user; nil if it is not known to.
func positionIn(
	around *scoreboard.Top, ranked *scoreboard.Place, user scoreboard.UserID, order scoreboard.Order,
) *scoreboard.Position {
	for i := range around.Entries {
		if around.Entries[i].User == user {
			return new(around.Position(i, order))
		}
	}
	if ranked == nil {
		return nil
	}
	return new(ranked.Position(order))
}

// rankIn returns the rank of a position behind all standings at or ahead of it.
func rankIn(around *scoreboard.Top, at *scoreboard.Position, order scoreboard.Order) int64 {
	for i := range around.Entries {
		if p := around.Position(i, order); p.Compare(at) > 0 {
			return around.Entries[i].Rank
		}
	}
	if n := len(around.Entries); n > 0 {
		return around.Entries[n-1].Rank + 1
	}
	return around.Total + 1
}

// neighbours returns the standing of p with k of others on each side.
func neighbours(
	around *scoreboard.Top, p *scoreboard.Place, at *scoreboard.Position, order scoreboard.Order, k int,
) []scoreboard.Entry {
	var ahead, behind []scoreboard.Entry
	for i := range around.Entries {
		switch q := around.Position(i, order); {
		case around.Entries[i].User == p.User:
		case q.Compare(at) <= 0:
			ahead = append(ahead, around.Entries[i])
		default:
			behind = append(behind, around.Entries[i])
		}
	}
	ahead = ahead[max(len(ahead)-k, 0):]
	own := scoreboard.Entry{User: p.User, Score: p.Score, Private: p.Private}
	all := slices.Concat(ahead, []scoreboard.Entry{own}, behind[:min(k, len(behind))])
	for i := range all {
		all[i].Rank = p.Rank + int64(i-len(ahead))
	}
	return all
}
