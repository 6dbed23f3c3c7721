package scoreboard

import "testing"

func TestPercentileRoundsHalfUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rank, total int64
		want        float64
	}{
		{0, 0, 0},
		{1, 1, 0},
		{1, 2, 50},
		{1, 3, 66.7},
		{2, 3, 33.3},
		{15, 16, 6.3},     // 6.25
		{1999, 2000, 0.1}, // 0.05
		{2000, 2001, 0},   // 0.04998
		{1997, 2000, 0.2}, // 0.15
		{2000, 2000, 0},
		{1, 1000, 99.9},
		{1, 2000, 100}, // 99.95
		{1, 1999, 99.9},
	} {
		p := Place{Total: c.total}
		p.Rank = c.rank
		if got := p.Percentile(); got != c.want {
			t.Errorf("rank %d of %d: got %v, want %v", c.rank, c.total, got, c.want)
		}
	}
}
