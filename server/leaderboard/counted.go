package leaderboard

import (
	"context"
	"slices"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// scoreOf reads a user's score from a store, without a rank; nil without one.
func scoreOf(
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
	at := p.Position(board)
	beside := k
	if board.SharesRanks() { // the rank is that of the one ahead, or not
		beside = max(k, 1)
	}
	var around *scoreboard.Top
	err := l.reads.try(ctx, board.ID, func(ctx context.Context) (err error) {
		// One more on each side: one of them may be the user.
		around, err = l.ranking.Around(ctx, board, &at, beside+1, beside+1)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := *p
	out.Rank, out.Total = rankIn(around, &at, board), around.Total+1
	old := positionIn(around, ranked, p.User, board)
	if old != nil {
		out.Total--
		if old.Compare(&at) <= 0 {
			out.Rank--
		}
	}
	out.AsOf, out.Degraded = around.AsOf, around.Degraded
	if beside > 0 {
		out.Neighbours = neighbours(around, &out, &at, board, beside)
	}
	if board.SharesRanks() {
		shareRanks(around, &out, old, board)
	}
	if k == 0 {
		out.Neighbours = nil
	}
	return &out, nil
}

// shareRanks changes the ranks of a standing and its neighbours, which are those of the order, to
// shared ones. around has those neighbours that have been there without the standing; old is where the
// user was.
func shareRanks(around *scoreboard.Top, p *scoreboard.Place, old *scoreboard.Position, board *scoreboard.Board) {
	rows := p.Neighbours
	first := rows[0].Rank // of the standing itself: nobody is ahead
	i := slices.IndexFunc(around.Entries, func(e scoreboard.Entry) bool { return e.User == rows[0].User })
	if rows[0].User != p.User && i >= 0 {
		first = around.Entries[i].Rank
		if old != nil && board.Better(board.Pair(old.Key, old.SubKey), rows[0].Pair()) {
			first--
		}
	}
	scoreboard.ShareRanks(rows, first)
	p.Rank = rows[slices.IndexFunc(rows, func(e scoreboard.Entry) bool { return e.User == p.User })].Rank
}

// positionIn returns where the ranking has a user; nil if it is not known to.
func positionIn(
	around *scoreboard.Top, ranked *scoreboard.Place, user scoreboard.UserID, board *scoreboard.Board,
) *scoreboard.Position {
	for i := range around.Entries {
		if around.Entries[i].User == user {
			return new(around.Position(i, board))
		}
	}
	if ranked == nil {
		return nil
	}
	return new(ranked.Position(board))
}

// rankIn returns the rank of a position behind all standings at or ahead of it, in the order of
// the board.
func rankIn(around *scoreboard.Top, at *scoreboard.Position, board *scoreboard.Board) int64 {
	for i := range around.Entries {
		if p := around.Position(i, board); p.Compare(at) > 0 {
			return around.Ordinal(i)
		}
	}
	if n := len(around.Entries); n > 0 {
		return around.Ordinal(n-1) + 1
	}
	return around.Total + 1
}

// neighbours returns the standing of p with k of others on each side.
func neighbours(
	around *scoreboard.Top, p *scoreboard.Place, at *scoreboard.Position, board *scoreboard.Board, k int,
) []scoreboard.Entry {
	var ahead, behind []scoreboard.Entry
	for i := range around.Entries {
		switch q := around.Position(i, board); {
		case around.Entries[i].User == p.User:
		case q.Compare(at) <= 0:
			ahead = append(ahead, around.Entries[i])
		default:
			behind = append(behind, around.Entries[i])
		}
	}
	ahead = ahead[max(len(ahead)-k, 0):]
	own := scoreboard.Entry{User: p.User, Score: p.Score, Subscore: p.Subscore, Private: p.Private}
	all := slices.Concat(ahead, []scoreboard.Entry{own}, behind[:min(k, len(behind))])
	for i := range all {
		all[i].Rank = p.Rank + int64(i-len(ahead))
	}
	return all
}
