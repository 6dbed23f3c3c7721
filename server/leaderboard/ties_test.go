package leaderboard_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// behindRows is a ranking that has an older standing of a user, or none.
type behindRows struct {
	sortedRows
	old *scoreboard.Position
}

func (s *behindRows) Around(
	_ context.Context, board *scoreboard.Board, at *scoreboard.Position, before, behind int,
) (*scoreboard.Top, error) {
	ahead := sort.Search(len(s.rows), func(i int) bool { return s.rows[i].Compare(at) > 0 })
	first, end := max(ahead-before, 0), min(ahead+behind, len(s.rows))
	top := &scoreboard.Top{Board: board.ID, Total: int64(len(s.rows)), AsOf: time.Now(), State: scoreboard.StateHealthy}
	for i := first; i < end; i++ {
		pair := board.Pair(s.rows[i].Key, s.rows[i].SubKey)
		top.Entries = append(top.Entries, scoreboard.Entry{
			Rank: int64(i) + 1, User: s.rows[i].User, Score: pair.Score, Subscore: pair.Subscore,
		})
		top.Reached = append(top.Reached, s.rows[i].ReachedAt)
	}
	if board.SharesRanks() {
		top.ShareRanks(s.rank(board, first))
	}
	return top, nil
}

func (s *behindRows) Place(
	_ context.Context, board *scoreboard.Board, user scoreboard.UserID, _ int,
) (*scoreboard.Place, error) {
	if s.old == nil {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "no score")
	}
	pair := board.Pair(s.old.Key, s.old.SubKey)
	return &scoreboard.Place{
		Board: board.ID, User: user, Score: pair.Score, Subscore: pair.Subscore, UpdatedAt: s.old.ReachedAt,
		UserVersion: 1,
	}, nil
}

// newScore is a store with the newest score of a user.
type newScore struct {
	plainFallback
	place scoreboard.Place
}

func (s *newScore) Scores(
	context.Context, *scoreboard.Board, []scoreboard.UserID,
) ([]scoreboard.Place, error) {
	return []scoreboard.Place{s.place}, nil
}

// A score that the ranking lacks, of a user whom it has or not, has the rank and the neighbours that the
// board will have with it, also where equal scores share a rank.
func TestScoresThatTheRankingLacks(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var reads sync.WaitGroup
	defer reads.Wait()
	for i := range 400 {
		board := &scoreboard.Board{
			ID: "arena", Order: scoreboard.OrderHighest, Ties: []scoreboard.Ties{
				"",
				scoreboard.TiesShared,
			}[rng.IntN(2)],
			Subscore: subscores[rng.IntN(len(subscores))],
		}
		source := &behindRows{sortedRows: sortedRows{rows: manyRows(rng, board, 1+rng.IntN(12))}}
		user := scoreboard.UserID("new")
		if rng.IntN(3) > 0 {
			source.old = new(source.rows[rng.IntN(len(source.rows))])
			user = source.old.User
		}
		place := scoreboard.Place{
			Board: "arena", User: user, Score: scoreboard.Score(rng.IntN(12) - 6), UserVersion: 5, Revision: 5,
			UpdatedAt: time.UnixMicro(int64(1 + rng.IntN(12))).UTC(),
		}
		if board.HasSubscores() {
			place.Subscore = scoreboard.Score(rng.IntN(12) - 6)
		}
		k := rng.IntN(4)
		reads.Go(func() { // each waits a second for the ranking
			l := leaderboard.New(leaderboard.Options{
				Catalog: oneBoard{}, Ranking: source, Fallback: &newScore{place: place}, TriggerRebuild: func() {},
				Log: slog.New(slog.DiscardHandler),
			})
			p, err := l.Place(t.Context(), board, user, k, 5)
			if err != nil {
				t.Error(err)
				return
			}
			at := place.Position(board)
			rows := slices.Clone(source.rows)
			rows = slices.DeleteFunc(rows, func(q scoreboard.Position) bool { return q.User == user })
			rows = append(rows, at)
			slices.SortFunc(rows, func(p, q scoreboard.Position) int { return p.Compare(&q) })
			then := sortedRows{rows: rows}
			own := slices.IndexFunc(rows, func(q scoreboard.Position) bool { return q.User == user })
			got := fmt.Sprintf("rank %d of %d:", p.Rank, p.Total)
			for _, e := range p.Neighbours {
				got += fmt.Sprintf(" %d %s %d.%d", e.Rank, e.User, e.Score, e.Subscore)
			}
			want := fmt.Sprintf("rank %d of %d:", then.rank(board, own), len(rows))
			for j := max(own-k, 0); k > 0 && j < min(own+k+1, len(rows)); j++ {
				pair := board.Pair(rows[j].Key, rows[j].SubKey)
				want += fmt.Sprintf(" %d %s %d.%d", then.rank(board, j), rows[j].User, pair.Score, pair.Subscore)
			}
			if got != want {
				t.Errorf("%d, ties %q, subscore %q, old %+v, new %+v among %+v:\n got %s\nwant %s", i, board.Ties,
					board.Subscore, source.old, at,
					source.rows, got, want)
			}
		})
	}
}
