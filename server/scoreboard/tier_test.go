package scoreboard_test

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// naiveTier decides by rational numbers, band by band.
func naiveTier(tiers scoreboard.Tiers, o scoreboard.Order, rank, total int64, score scoreboard.Score) int {
	for i, t := range tiers {
		switch {
		case t.Score != nil && o == scoreboard.OrderHighest:
			if score >= *t.Score {
				return i
			}
		case t.Score != nil:
			if score <= *t.Score {
				return i
			}
		case t.Rank != 0:
			if rank <= t.Rank {
				return i
			}
		default: // rank ≤ ceil(x), if and only if rank − 1 < x
			x := big.NewRat(t.Percent*total, 100_000)
			if big.NewRat(rank-1, 1).Cmp(x) < 0 {
				return i
			}
		}
	}
	return -1
}

func randomTiers(rng *rand.Rand, users int64) scoreboard.Tiers {
	var tiers scoreboard.Tiers
	for i := range rng.IntN(6) {
		t := scoreboard.Tier{Name: string(rune('a' + i))}
		switch rng.IntN(3) {
		case 0:
			t.Rank = 1 + rng.Int64N(users+3)
		case 1:
			t.Percent = 1 + rng.Int64N(100_000)
		default:
			t.Score = new(scoreboard.Score(rng.Int64N(40) - 20))
		}
		tiers = append(tiers, t)
	}
	return tiers
}

// A user is in the first tier that holds, and as many ranks or points from the one before as
// would be enough, and not one less.
func TestTiersAgreeWithANaiveModel(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(43, 2))
	for range 100_000 {
		total := 1 + rng.Int64N(300)
		tiers := randomTiers(rng, total)
		if err := tiers.Check(); err != nil {
			t.Fatal(err)
		}
		o := []scoreboard.Order{scoreboard.OrderHighest, scoreboard.OrderLowest}[rng.IntN(2)]
		rank, score := 1+rng.Int64N(total), scoreboard.Score(rng.Int64N(50)-25)
		got, want := tiers.Of(o, rank, total, score), naiveTier(tiers, o, rank, total, score)
		if got != want {
			t.Fatalf("%+v: rank %d of %d with %d (%s): got tier %d, want %d", tiers, rank, total, score, o, got, want)
		}
		next := tiers.Next(got, o, rank, total, score)
		if (next == nil) != (got == 0 || len(tiers) == 0) {
			t.Fatalf("%+v: tier %d, next %+v", tiers, got, next)
		}
		if next == nil {
			continue
		}
		gain := scoreboard.Score(1)
		if o == scoreboard.OrderLowest {
			gain = -1
		}
		only := scoreboard.Tiers{*next.Tier}
		reached := only.Of(o, rank-next.Ranks, total, score+gain*scoreboard.Score(next.Points)) == 0
		before := only.Of(o, rank-max(next.Ranks-1, 0), total, score+gain*scoreboard.Score(max(next.Points-1, 0))) == 0
		if !reached || before || (next.Ranks > 0) == (next.Points > 0) {
			t.Fatalf("%+v: rank %d of %d with %d (%s): %+v is not the way to the next tier", tiers, rank, total,
				score, o, next)
		}
	}
}

func TestLastRankOfManyUsers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ percent, total, want int64 }{
		{100_000, 1, 1},
		{1, 1, 1},
		{50_000, 3, 2},
		{33_333, 3, 1},
		{33_334, 3, 2},
		{5_000, 0, 0},
		{100_000, scoreboard.MaxScore, scoreboard.MaxScore},
		{1, 100_001, 2},
		{1, 100_000, 1},
	} {
		tier := scoreboard.Tier{Percent: c.percent}
		if got := tier.LastRank(c.total); got != c.want {
			t.Errorf("%d thousandths of a percent of %d: got %d, want %d", c.percent, c.total, got, c.want)
		}
	}
}

func TestInvalidTiers(t *testing.T) {
	t.Parallel()
	score, far := scoreboard.Score(1), scoreboard.Score(1<<53)
	many := make(scoreboard.Tiers, scoreboard.MaxTiers+1)
	for i := range many {
		many[i] = scoreboard.Tier{Name: strings.Repeat("a", i+1), Rank: 1}
	}
	if err := many[:scoreboard.MaxTiers].Check(); err != nil {
		t.Errorf("%d tiers: %v", scoreboard.MaxTiers, err)
	}
	for name, tiers := range map[string]scoreboard.Tiers{
		"too many":    many,
		"no name":     {{Rank: 1}},
		"a bad name":  {{Name: "Gold", Rank: 1}},
		"twice":       {{Name: "gold", Rank: 1}, {Name: "gold", Rank: 2}},
		"no bound":    {{Name: "gold"}},
		"two bounds":  {{Name: "gold", Rank: 1, Score: &score}},
		"below 1":     {{Name: "gold", Rank: -1}},
		"above 100":   {{Name: "gold", Percent: 100_001}},
		"below 0":     {{Name: "gold", Percent: -1}},
		"a far score": {{Name: "gold", Score: &far}},
	} {
		if err := tiers.Check(); wire.CodeOf(err) != wire.CodeInvalidRequest {
			t.Errorf("%s: got %v, want an invalid_request", name, err)
		}
	}
	for _, p := range []float64{-1, 0, 100.001, 0.0001, 33.3333} {
		if n, err := scoreboard.ParsePercent(p); err == nil {
			t.Errorf("percentile %v: got %d, want an error", p, n)
		}
	}
	for p, want := range map[float64]int64{0.001: 1, 0.1: 100, 33.333: 33_333, 100: 100_000} {
		if n, err := scoreboard.ParsePercent(p); err != nil || n != want {
			t.Errorf("percentile %v: got %d, %v, want %d", p, n, err, want)
		}
	}
}
