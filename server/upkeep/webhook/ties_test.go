package webhook

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// rankedRows is a ranking of positions in order.
type rankedRows struct {
	staleRanking
	rows []scoreboard.Position
}

func (r *rankedRows) Around(
	_ context.Context, board *scoreboard.Board, at *scoreboard.Position, _, behind int,
) (*scoreboard.Top, error) {
	top := &scoreboard.Top{Total: int64(len(r.rows))}
	for i := range r.rows {
		p := &r.rows[i]
		if p.Compare(at) <= 0 || len(top.Entries) == behind {
			continue
		}
		pair := board.Pair(p.Key, p.SubKey)
		top.Entries = append(top.Entries, scoreboard.Entry{
			Rank: int64(i) + 1, User: p.User, Score: pair.Score, Subscore: pair.Subscore,
		})
	}
	if board.SharesRanks() && len(top.Entries) > 0 {
		key, subKey := board.Keys(top.Entries[0].Pair())
		first := slices.IndexFunc(r.rows, func(q scoreboard.Position) bool {
			return q.Key == key && q.SubKey == subKey
		})
		top.ShareRanks(int64(first) + 1)
	}
	return top, nil
}

// The rank that a user had before a move, or has after it, is 1 + the others who are ahead, also on boards that
// share ranks, and the tier is that of this rank.
func TestRanksOfMoves(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 1000 {
		board := &scoreboard.Board{
			ID: "arena", Order: scoreboard.OrderLowest, Ties: []scoreboard.Ties{"", scoreboard.TiesShared}[rng.IntN(2)],
			Subscore: []scoreboard.Order{"", scoreboard.OrderHighest, scoreboard.OrderLowest}[rng.IntN(3)],
			Tiers:    scoreboard.Tiers{{Name: "first", Rank: 1 + rng.Int64N(4)}, {Name: "half", Percent: 50_000}},
		}
		random := func(user int) scoreboard.Position {
			p := scoreboard.Position{
				Key: rng.Int64N(5), ReachedAt: time.UnixMicro(1 + rng.Int64N(3)).UTC(),
				User: scoreboard.UserID(fmt.Sprint("u", user)),
			}
			if board.HasSubscores() {
				p.SubKey = rng.Int64N(3) - 1
			}
			return p
		}
		rows := make([]scoreboard.Position, 1+rng.IntN(8))
		for i := range rows {
			rows[i] = random(i)
		}
		own, at := rows[0], random(0)
		slices.SortFunc(rows, func(p, q scoreboard.Position) int { return p.Compare(&q) })
		want := int64(1)
		for i := range rows {
			ahead := rows[i].Compare(&at) < 0
			if board.SharesRanks() {
				ahead = rows[i].Key < at.Key || rows[i].Key == at.Key && rows[i].SubKey < at.SubKey
			}
			if rows[i].User != own.User && ahead {
				want++
			}
		}
		w := New(Options{Ranking: &rankedRows{rows: rows}})
		pair := board.Pair(own.Key, own.SubKey)
		place := &scoreboard.Place{User: own.User, Score: pair.Score, Subscore: pair.Subscore, UpdatedAt: own.ReachedAt}
		tier, rank, err := w.tierAt(t.Context(), board, place, &at)
		wantTier := board.Tiers.Of(board.Order, want, int64(len(rows)), board.Order.Score(at.Key))
		if err != nil || rank != want || tier != wantTier {
			t.Fatalf("ties %q, from %+v to %+v among %+v: tier %d, rank %d, %v, want %d, %d", board.Ties, own, at, rows,
				tier, rank, err, wantTier, want)
		}
	}
}
