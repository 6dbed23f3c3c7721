package freshness

import (
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// A score may be seen before its receipt arrives.
func TestSightings(t *testing.T) {
	t.Parallel()
	var took []time.Duration
	s := newSightings([]string{"p"}, func(_ time.Time, d time.Duration) { took = append(took, d) })
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	see := func(score int64, ms int) {
		s.observe([]wire.Entry{{UserID: "x", Score: 999}, {UserID: "p", Score: score}}, at(ms))
	}
	s.committed("p", 1, at(0))
	s.committed("p", 2, at(10))
	see(2, 100) // both at once
	see(2, 150) // no change
	see(4, 200)
	s.committed("p", 3, at(120)) // seen at 200 already
	see(1, 250)                  // a stale frame shows nothing
	s.committed("p", 5, at(205))
	s.committed("p", 6, at(210))
	see(5, 255) // the second is still pending
	if s.waiting() != 1 {
		t.Errorf("got %d waiting", s.waiting())
	}
	s.close(at(1210))
	want := []time.Duration{
		100 * time.Millisecond,
		90 * time.Millisecond,
		80 * time.Millisecond,
		50 * time.Millisecond,
		time.Second,
	}
	if !slices.Equal(took, want) || s.waiting() != 0 {
		t.Errorf("got %v, want %v", took, want)
	}
}
