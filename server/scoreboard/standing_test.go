package scoreboard

import (
	"testing"
	"time"
)

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

func TestPlaceIncludesAReceipt(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 7, 0, 0, 0, time.UTC)
	place := Place{Score: 5, Rank: 3, UpdatedAt: at, UserVersion: 4}
	for _, c := range []struct {
		name    string
		receipt Receipt
		score   Score
	}{
		{"newer", Receipt{NewScore: 9, Applied: 4, Version: 5}, 9},
		{"newer, and lower", Receipt{NewScore: 2, Applied: -3, Version: 5}, 2},
		{"included", Receipt{NewScore: 4, Applied: 1, Version: 4}, 5},
		{"changed nothing", Receipt{NewScore: 5, Version: 5}, 5},
		{"reversed since", Receipt{NewScore: 9, Applied: 4, Version: 5, Reversed: true}, 5},
	} {
		c.receipt.RecordedAt = at.Add(time.Second)
		got := place.Including(&c.receipt)
		if changed := c.score != 5; got.Score != c.score || got.Rank != 3 || got.UpdatedAt.Equal(at) == changed {
			t.Errorf("%s: got %+v", c.name, got)
		}
	}
	if place.Score != 5 {
		t.Error("the place itself, which may be cached, has changed")
	}
}
