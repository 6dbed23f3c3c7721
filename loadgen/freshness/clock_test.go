package freshness

import (
	"testing"
	"time"
)

// The fastest of the last requests determines the offset, also after a drift.
func TestClockOffset(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	for name, off := range map[string]int{"ahead": 5000, "behind": -5000, "the same": 0} {
		c := &clock{}
		for i, tc := range []struct{ sent, recorded, want int }{
			{100, 140, 100}, // all 40 may be latency
			{200, 210, 200},
			{300, 350, 340}, // at least 10 are latency
			{400, 480, 470},
			{500, 505, 500},
			{600, 650, 645},
		} {
			if got := c.local(at(tc.sent), at(tc.recorded+off)); got != at(tc.want) {
				t.Errorf("%s: %d: got %v, want %v", name, i, got, at(tc.want))
			}
		}
	}
	c := &clock{}
	c.local(at(0), at(1000))
	for i := range offsets {
		c.local(at(i), at(i+1500)) // half a second ahead of the first
	}
	if got := c.local(at(1000), at(2600)); got != at(1100) {
		t.Errorf("after a drift: got %v", got)
	}
}
