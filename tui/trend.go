package tui

import "time"

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

func (t *trend) add(gain int64, now time.Time) {
	t.advance(now)
	t.gains[trendSlots-1] += gain
}

// line draws the gains relative to the largest. A loss is drawn as no gain.
func (t *trend) line(st *style, now time.Time) string {
	t.advance(now)
	var largest int64
	for _, g := range t.gains {
		largest = max(largest, g)
	}
	if largest == 0 {
		return ""
	}
	line := ""
	for _, g := range t.gains {
		switch {
		case g <= 0:
			line += " "
		default:
			steps := int64(len(st.sparks))
			line += st.sparks[min((g*steps-1)/largest, steps-1)]
		}
	}
	return line
}
