package loadgen

import (
	"slices"
	"sync"
	"time"
)

// skew tells by this machine's clock when a server with another one recorded
// something. It was recorded after it was sent: the server's time of the one
// less ours of the other is how far its clock is ahead, and the way there on
// top. The least of the last ones has the least of the way, and what is left of
// it makes freshness longer, never shorter.
type skew struct {
	mu   sync.Mutex
	last [skews]time.Duration // in no order
	n    int
}

// skews are enough to hold a quick one, and so few, eight seconds of the pulse,
// that the clocks do not drift apart meanwhile.
const skews = 128

// ours is when the server recorded, at a time of its own, what was sent at one of
// ours.
func (s *skew) ours(sent, recorded time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[s.n%skews] = recorded.Sub(sent)
	s.n++
	return recorded.Add(-slices.Min(s.last[:min(s.n, skews)]))
}
