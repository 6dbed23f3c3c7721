package tui

import (
	"time"
)

// trend holds a user's gains in recent time slots.
type trend struct {
	gains [trendSlots]int64
	slot  int64 // of the newest gain
}

// One minute in slots of five seconds, one cell each.
const (
	trendSlots = 12
	trendSlot  = 5 * time.Second
)

// advance drops the slots that have passed.
func (t *trend) advance(now time.Time) {
	slot := now.UnixNano() / int64(trendSlot)
	for n := min(slot-t.slot, trendSlots); n > 0; n-- {
		copy(t.gains[:], t.gains[1:])
		t.gains[trendSlots-1] = 0
	}
	t.slot = max(t.slot, slot)
}

// since is the time since the slot of the newest gain.
func (t *trend) since(now time.Time) time.Duration {
	return now.Sub(time.Unix(0, t.slot*int64(trendSlot)))
}

func (t *trend) add(gain int64, now time.Time) {
	t.advance(now)
	t.gains[trendSlots-1] += gain
}

// line draws the gains relative to the largest. A loss is drawn as no gain.
func (t *trend) line(th *theme, now time.Time) string {
	shown := *t
	shown.advance(now)
	values, any := make([]float64, trendSlots), false
	for i, g := range shown.gains {
		values[i] = float64(g)
		any = any || g > 0
	}
	if !any {
		return ""
	}
	return th.sparkline(values)
}

// ranks holds the ranks that a user had while the board was watched.
type ranks struct{ points []rankPoint }

type rankPoint struct {
	at   time.Time
	rank int64
}

// maxRankPoints bounds what one user's ranks take.
const maxRankPoints = 120

func (r *ranks) add(rank int64, now time.Time) {
	if n := len(r.points); n > 0 && r.points[n-1].rank == rank {
		return
	}
	if len(r.points) == maxRankPoints {
		r.points = r.points[1:]
	}
	r.points = append(r.points, rankPoint{now, rank})
}
