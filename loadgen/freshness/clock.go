package freshness

import (
	"slices"
	"sync"
	"time"
)

// clock converts the time of a server with another clock to the local time.
//
// A server records an increment after it was sent, so its time minus the local
// send time is the clock offset plus the latency of the request. The minimum over
// the last requests is closest to the offset; the latency that remains in it
// makes freshness longer, never shorter.
type clock struct {
	mu   sync.Mutex
	last [offsets]time.Duration // ring buffer
	n    int
}

// offsets is the number of requests that the minimum is taken over: enough to
// include a fast one, and, at eight seconds of steps, too few for the clocks to
// drift apart.
const offsets = 128

// local returns the local time at which the server recorded what was sent at a
// local time.
func (c *clock) local(sent, recorded time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[c.n%offsets] = recorded.Sub(sent)
	c.n++
	return recorded.Add(-slices.Min(c.last[:min(c.n, offsets)]))
}
