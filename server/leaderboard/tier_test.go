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
	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// sortedRows is a ranking that answers pages from rows in order.
type sortedRows struct {
	hanging
	rows  []scoreboard.Position
	reads int
}

func (s *sortedRows) Page(
	_ context.Context, board *scoreboard.Board, after *scoreboard.Position, limit int,
) (*scoreboard.Top, error) {
	s.reads++
	first := sort.Search(len(s.rows), func(i int) bool { return s.rows[i].Compare(after) > 0 })
	top := &scoreboard.Top{Board: board.ID, Total: int64(len(s.rows)), AsOf: time.Now(), State: scoreboard.StateHealthy}
	for i := first; i < min(first+limit, len(s.rows)); i++ {
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

// rank is that of row i; 0 if there is none.
func (s *sortedRows) rank(board *scoreboard.Board, i int) int64 {
	if i < len(s.rows) && board.SharesRanks() {
		own := &s.rows[i]
		i = sort.Search(len(s.rows), func(j int) bool {
			row := &s.rows[j]
			return row.Key > own.Key || row.Key == own.Key && row.SubKey >= own.SubKey
		})
	}
	return int64(i) + 1
}

// manyRows are users, of whom many have the same score, and many of those the same subscore, if board has
// any, since the same time.
func manyRows(rng *rand.Rand, board *scoreboard.Board, users int) []scoreboard.Position {
	scores, subscores, times := 1+rng.IntN(users), 1+rng.IntN(users), 1+rng.IntN(users)
	rows := make([]scoreboard.Position, users)
	for i := range rows {
		rows[i] = scoreboard.Position{
			Key:       scoreboard.OrderHighest.Key(scoreboard.Score(rng.IntN(scores) - scores/2)),
			ReachedAt: time.UnixMicro(int64(1 + rng.IntN(times))), User: scoreboard.UserID(fmt.Sprintf("u%d", i)),
		}
		if board.HasSubscores() {
			rows[i].SubKey = board.Subscore.Key(scoreboard.Score(rng.IntN(subscores) - subscores/2))
		}
	}
	slices.SortFunc(rows, func(a, b scoreboard.Position) int { return a.Compare(&b) })
	return rows
}

func pagesOf(source leaderboard.Ranking) *leaderboard.Leaderboard {
	return leaderboard.New(leaderboard.Options{
		Catalog: oneBoard{}, Ranking: source, Fallback: plainFallback{}, TriggerRebuild: func() {},
		Log: slog.New(slog.DiscardHandler),
	})
}

// subscores are the orders of subscores; "" is a board without.
var subscores = []scoreboard.Order{"", scoreboard.OrderHighest, scoreboard.OrderLowest}

// The pages of a tier have exactly its users, in order, on boards of every shape.
func TestPagesOfATierHaveItsUsers(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(43, 4))
	for range 120 {
		board := &scoreboard.Board{
			ID: "arena", Order: scoreboard.OrderHighest,
			Ties:     []scoreboard.Ties{"", scoreboard.TiesShared}[rng.IntN(2)],
			Subscore: subscores[rng.IntN(len(subscores))],
		}
		source := &sortedRows{rows: manyRows(rng, board, 1+rng.IntN(3000))}
		total := int64(len(source.rows))
		score := scoreboard.OrderHighest.Score(source.rows[rng.IntN(len(source.rows))].Key)
		board.Tiers = scoreboard.Tiers{
			{Name: "first", Rank: 1 + rng.Int64N(10)},
			{Name: "some", Percent: 1 + rng.Int64N(60_000)},
			{Name: "score", Score: &score},
			{Name: "rank", Rank: 1 + rng.Int64N(total)},
			{Name: "all", Percent: 100_000},
		}
		l := leaderboard.NewTierReads(pagesOf(source))
		for tier := range board.Tiers {
			var want, got []scoreboard.UserID
			for i, p := range source.rows {
				if board.Tiers.Of(board.Order, source.rank(board, i), total, board.Order.Score(p.Key)) == tier {
					want = append(want, p.User)
				}
			}
			var after *scoreboard.Position
			for more := true; more; {
				page, next, err := l.TierPage(t.Context(), board, tier, after, 100)
				if err != nil {
					t.Fatal(err)
				}
				if after != nil && len(page.Entries) == 0 {
					t.Errorf("tier %s: an empty page follows %d users", board.Tiers[tier].Name, len(got))
				}
				for i := range page.Entries {
					got = append(got, page.Entries[i].User)
				}
				if more = next; more {
					p := page.Position(len(page.Entries)-1, board)
					after = &p
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("tier %s of %d users: got %d users, want %d", board.Tiers[tier].Name, total,
					len(got), len(want))
			}
		}
	}
}

// Where a tier begins is found with few reads, however large the board is.
func TestTierOfALargeBoardIsFoundQuickly(t *testing.T) {
	t.Parallel()
	for subscore, most := range map[scoreboard.Order]int{"": 80, scoreboard.OrderHighest: 120} {
		board := &scoreboard.Board{
			ID: "arena", Order: scoreboard.OrderHighest, Subscore: subscore,
			Tiers: scoreboard.Tiers{{Name: "gold", Rank: 100_000}, {Name: "silver", Percent: 100_000}},
		}
		source := &sortedRows{rows: manyRows(rand.New(rand.NewPCG(43, 5)), board, 200_000)}
		if subscore != "" { // that alone decides
			for i := range source.rows {
				source.rows[i].Key = 0
			}
			slices.SortFunc(source.rows, func(a, b scoreboard.Position) int { return a.Compare(&b) })
		}
		page, more, err := leaderboard.NewTierReads(pagesOf(source)).TierPage(t.Context(), board, 1, nil, 10)
		if err != nil || !more || len(page.Entries) != 10 || page.Entries[0].Rank != 100_001 {
			t.Fatalf("subscore %q: got %+v, %v, %v, want ranks from 100001", subscore, page, more, err)
		}
		if source.reads > most {
			t.Errorf("subscore %q: %d reads, want at most %d", subscore, source.reads, most)
		}
	}
}

// storedRows is a store with the rows of a board.
type storedRows struct {
	plainFallback
	rows *sortedRows
}

func (s *storedRows) Page(
	ctx context.Context, board *scoreboard.Board, after *scoreboard.Position, limit int,
) (*scoreboard.Top, error) {
	return s.rows.Page(ctx, board, after, limit)
}

// Without the ranking the first tiers are listed from the store, and no search is made there.
func TestTiersWithoutTheRanking(t *testing.T) {
	t.Parallel()
	rows := &sortedRows{rows: manyRows(rand.New(rand.NewPCG(43, 5)), &scoreboard.Board{}, 3000)}
	l := leaderboard.NewTierReads(leaderboard.New(leaderboard.Options{
		Catalog: oneBoard{}, Ranking: &missing{}, Fallback: &storedRows{rows: rows}, TriggerRebuild: func() {},
		Log: slog.New(slog.DiscardHandler),
	}))
	board := &scoreboard.Board{ID: "arena", Order: scoreboard.OrderHighest, Tiers: scoreboard.Tiers{
		{Name: "gold", Rank: 10}, {Name: "silver", Rank: 2000}, {Name: "bronze", Percent: 100_000},
	}}
	page, more, err := l.TierPage(t.Context(), board, 1, nil, 100)
	if err != nil || !more || len(page.Entries) != 100 || page.Entries[0].Rank != 11 || page.Degraded == "" {
		t.Errorf("got %+v, %t, %v, want the ranks from 11 of a degraded board", page, more, err)
	}
	rows.reads = 0
	if _, _, err := l.TierPage(t.Context(), board, 2, nil, 100); wire.CodeOf(err) != wire.CodeUnavailable {
		t.Errorf("got %v, want unavailable", err)
	}
	if rows.reads != 1 {
		t.Errorf("the store read %d pages, want 1", rows.reads)
	}
}

// missing is a ranking that does not have the board.
type missing struct{ hanging }

func (*missing) Page(
	context.Context, *scoreboard.Board, *scoreboard.Position, int,
) (*scoreboard.Top, error) {
	return nil, scoreboard.ErrNotLoaded
}

// waitingRows answers the reads of searches when they may go on.
type waitingRows struct {
	sortedRows
	began, goOn chan struct{}
}

func (s *waitingRows) Page(
	ctx context.Context, board *scoreboard.Board, after *scoreboard.Position, limit int,
) (*scoreboard.Top, error) {
	if limit == 1 { // of a search; a page begins with one row more
		select {
		case s.began <- struct{}{}:
		case <-s.goOn:
		}
		<-s.goOn
	}
	rows := sortedRows{rows: s.rows}
	return rows.Page(ctx, board, after, limit)
}

// Of the searches for where a tier begins, one caller or one board's readers leave a place to others.
func TestTierSearchesHaveShares(t *testing.T) {
	t.Parallel()
	tiers := scoreboard.Tiers{{Name: "gold", Rank: 2000}, {Name: "silver", Percent: 100_000}}
	for what, of := range map[string]func(i int) (string, scoreboard.BoardID){
		"one caller": func(i int) (string, scoreboard.BoardID) { return "eve", scoreboard.BoardID(fmt.Sprint("b", i)) },
		"one board":  func(i int) (string, scoreboard.BoardID) { return fmt.Sprint("u", i), "busy" },
	} {
		source := &waitingRows{
			sortedRows: sortedRows{rows: manyRows(rand.New(rand.NewPCG(43, 5)), &scoreboard.Board{}, 5000)},
			began:      make(chan struct{}, 100), goOn: make(chan struct{}),
		}
		l := leaderboard.NewTierReads(pagesOf(source))
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		search := func(caller string, board scoreboard.BoardID) {
			all.Go(func() {
				b := &scoreboard.Board{ID: board, Order: scoreboard.OrderHighest, Tiers: tiers}
				_, _, _ = l.TierPage(share.WithCaller(ctx, caller), b, 1, nil, 10)
			})
		}
		for i := range 10 {
			search(of(i))
		}
		for range 3 {
			<-source.began
		}
		time.Sleep(20 * time.Millisecond)
		if n := len(source.began); n != 0 {
			t.Errorf("%s: %d searches run, want 3", what, 3+n)
		}
		search("ada", "other")
		select {
		case <-source.began:
		case <-time.After(10 * time.Second):
			t.Errorf("%s: another's search waits", what)
		}
		cancel()
		close(source.goOn)
		all.Wait()
	}
}
