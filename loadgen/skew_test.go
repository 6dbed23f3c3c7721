package loadgen

import (
	"testing"
	"time"
)

// A server's clock is set to ours by the quickest of the last increments, however
// far it is off and wherever it drifts.
func TestTheServersTimeIsMadeOurs(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	for name, off := range map[string]int{"ahead": 5000, "behind": -5000, "the same": 0} {
		s := &skew{}
		for i, c := range []struct{ sent, recorded, want int }{
			{100, 140, 100}, // all of it may have been the way there
			{200, 210, 200},
			{300, 350, 340}, // 10 of it were the way, at least
			{400, 480, 470},
			{500, 505, 500},
			{600, 650, 645},
		} {
			if got := s.ours(at(c.sent), at(c.recorded+off)); got != at(c.want) {
				t.Errorf("%s: %d: got %v, want %v", name, i, got, at(c.want))
			}
		}
	}
	s := &skew{}
	s.ours(at(0), at(1000))
	for i := range skews {
		s.ours(at(i), at(i+1500)) // half a second ahead of what it was
	}
	if got := s.ours(at(1000), at(2600)); got != at(1100) {
		t.Errorf("after a drift: got %v", got)
	}
}
