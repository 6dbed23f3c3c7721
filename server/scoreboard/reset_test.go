package scoreboard

import (
	"testing"
	"time"
)

func TestNextReset(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	span := func(period Period, from, to time.Duration) *Board {
		return &Board{Period: period, PeriodStart: noon.Add(from), PeriodEnd: noon.Add(to)}
	}
	const hour = time.Hour
	spring, summer := span(PeriodSeason, -2*hour, 2*hour), span(PeriodSeason, 5*hour, 9*hour)
	past, next := span(PeriodSeason, -9*hour, -5*hour), span(PeriodSeason, 2*hour, 5*hour)
	for _, c := range []struct {
		name    string
		board   *Board
		periods []*Board
		want    time.Time
	}{
		{"no periods", &Board{Period: PeriodNone}, nil, time.Time{}},
		{"a family", &Board{Period: PeriodDaily}, nil, time.Time{}},
		{"today", span(PeriodDaily, -12*hour, 12*hour), nil, noon.Add(12 * hour)},
		{"tomorrow", span(PeriodDaily, 12*hour, 36*hour), nil, noon.Add(36 * hour)},
		{"yesterday", span(PeriodDaily, -36*hour, -12*hour), nil, time.Time{}},
		{"the last season", spring, []*Board{past, spring}, time.Time{}},
		{"a gap after the season", spring, []*Board{past, spring, summer}, noon.Add(5 * hour)},
		{"no gap", spring, []*Board{past, spring, next, summer}, noon.Add(2 * hour)},
		{"between seasons", past, []*Board{past, next}, noon.Add(2 * hour)},
		{"a season before the current one", past, []*Board{past, spring, summer}, time.Time{}},
	} {
		if got := c.board.NextReset(c.periods, noon); !got.Equal(c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
