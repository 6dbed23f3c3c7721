package leaderboard

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Budgets of ranking receipts: how long a recorded write waits for its rank, and
// how much of that the store gets, which ranks one receipt at a time.
const (
	rankBudget      = 50 * time.Millisecond
	storeRankBudget = 20 * time.Millisecond
)

// Ranker fills in the ranks of receipts.
type Ranker struct{ leaderboard *Leaderboard }

// NewRanker ranks as l does.
func NewRanker(l *Leaderboard) *Ranker { return &Ranker{l} }

// Rank sets Rank in every receipt: of the score and subscore that were just recorded, or the
// current one in a repeat. If it cannot be determined in time it stays nil; a
// write never fails for its rank.
func (r *Ranker) Rank(ctx context.Context, receipts []*scoreboard.Receipt) {
	ctx, cancel := context.WithTimeout(ctx, rankBudget)
	defer cancel()
	boards := make(map[scoreboard.BoardID][]*scoreboard.Receipt, 1)
	for _, receipt := range receipts {
		boards[receipt.Board] = append(boards[receipt.Board], receipt)
	}
	for id, mine := range boards {
		board, err := r.leaderboard.Catalog.Board(ctx, id)
		if err != nil {
			continue
		}
		users := make([]scoreboard.UserID, len(mine))
		pairs, all := make([]*scoreboard.Pair, len(mine)), make([]scoreboard.Pair, len(mine))
		for i, receipt := range mine {
			users[i] = receipt.User
			if !receipt.Replayed {
				all[i] = scoreboard.Pair{Score: receipt.NewScore, Subscore: receipt.NewSubscore}
				pairs[i] = &all[i]
			}
		}
		var ranks []*int64
		err = r.leaderboard.receipts.try(ctx, board.ID, func(ctx context.Context) (err error) {
			ranks, err = r.leaderboard.Ranking.Ranks(ctx, board, users, pairs)
			return err
		})
		if err != nil {
			r.leaderboard.degrade(board, err)
			r.fromFallback(ctx, board, mine, r.leaderboard.Fallback.Place)
			continue
		}
		var pending []*scoreboard.Receipt // repeats of events that have not reached the ranking
		for i, receipt := range mine {
			receipt.Rank = ranks[i]
			if receipt.Rank == nil && receipt.Replayed {
				pending = append(pending, receipt)
			}
		}
		r.fromFallback(ctx, board, pending, r.unranked)
	}
}

// unranked is the standing in the store of a user whom the ranking does not have.
func (r *Ranker) unranked(
	ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, k int,
) (*scoreboard.Place, error) {
	return r.leaderboard.stored(ctx, board, user, nil, k)
}

// fromFallback ranks as many receipts as the budget allows.
func (r *Ranker) fromFallback(
	ctx context.Context, board *scoreboard.Board, receipts []*scoreboard.Receipt,
	read func(context.Context, *scoreboard.Board, scoreboard.UserID, int) (*scoreboard.Place, error),
) {
	ctx, cancel := context.WithTimeout(ctx, storeRankBudget)
	defer cancel()
	for _, receipt := range receipts {
		err := r.leaderboard.storeReceipts.try(ctx, board.ID, func(ctx context.Context) error {
			place, err := read(ctx, board, receipt.User, 0)
			if err == nil {
				receipt.Rank = &place.Rank
			}
			return err
		})
		if err != nil && wire.CodeOf(err) != wire.CodeNotFound { // a hidden user has no rank
			return
		}
	}
}
