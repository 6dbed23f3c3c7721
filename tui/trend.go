package tui

import "time"

// trend is what a user gained in each of the last slots of time.
type trend struct {
	gains [trendSlots]int64
	slot  int64 // that the newest gain is of
}

// A minute in slots of five seconds: one cell each.
const (
	trendSlots = 12
	trendSlot  = 5 * time.Second
)

// move lets slots that have passed go.
func (t *trend) move(now time.Time) {
	slot := now.UnixNano() / int64(trendSlot)
	for n := min(slot-t.slot, trendSlots); n > 0; n-- {
		copy(t.gains[:], t.gains[1:])
		t.gains[trendSlots-1] = 0
	}
	t.slot = max(t.slot, slot)
}

func (t *trend) add(gain int64, now time.Time) {
	t.move(now)
	t.gains[trendSlots-1] += gain
}

// line draws the gains against the greatest of them. A loss is drawn as none.
func (t *trend) line(st *style, now time.Time) string {
	t.move(now)
	var most int64
	for _, g := range t.gains {
		most = max(most, g)
	}
	if most == 0 {
		return ""
	}
	line := ""
	for _, g := range t.gains {
		switch {
		case g <= 0:
			line += " "
		default:
			steps := int64(len(st.sparks))
			line += st.sparks[min((g*steps-1)/most, steps-1)]
		}
	}
	return line
}
