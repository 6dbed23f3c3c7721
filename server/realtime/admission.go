package realtime

import (
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// admit counts a connection in, or refuses it with rate_limited; unavailable
// while the hub drains. Whoever is admitted must leave.
func (h *Hub) admit(c *conn) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	reason, message := "", ""
	o, v := h.options.Load(), &c.viewer
	switch {
	case h.draining || h.closed:
		h.metrics.refused.WithLabelValues("draining").Inc()
		return h.restarting()
	case o.Off:
		h.metrics.refused.WithLabelValues("off").Inc()
		return &scoreboard.Error{Code: scoreboard.CodeUnavailable, Message: "streams are switched off: ask again and again instead", RetryAfter: offRetry}
	case o.ConnectionsPerNode > 0 && h.admitted >= o.ConnectionsPerNode:
		reason, message = "node", "too many connections to this server"
	case o.ConnectionsPerUser > 0 && v.User != "" && h.users[v.User] >= o.ConnectionsPerUser:
		reason, message = "user", "too many connections of this user"
	case o.ConnectionsPerAddress > 0 && v.Address != "" && h.addresses[v.Address] >= o.ConnectionsPerAddress:
		reason, message = "address", "too many connections from this address"
	case o.JoinsPerSecond > 0 && !h.joins.take(time.Now(), float64(o.JoinsPerSecond), float64(o.JoinsPerSecond)):
		reason, message = "rate", "too many joins at once"
	}
	if reason != "" {
		h.metrics.refused.WithLabelValues(reason).Inc()
		return &scoreboard.Error{Code: scoreboard.CodeRateLimited, Message: message, RetryAfter: time.Second}
	}
	h.admitted++
	if v.User != "" {
		h.users[v.User]++
	}
	if v.Address != "" {
		h.addresses[v.Address]++
	}
	h.metrics.connections.WithLabelValues(c.out.kind()).Inc()
	return nil
}

// restarting sends a client away for as long as a goodbye would.
func (h *Hub) restarting() error {
	return &scoreboard.Error{
		Code: scoreboard.CodeUnavailable, Message: "the server is restarting",
		RetryAfter: max(time.Second, h.options.Load().ReconnectWithin/2),
	}
}

// enter puts an admitted connection, whose way to the client is there, before
// the hub; not when the hub has closed.
func (h *Hub) enter(c *conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.conns[c] = struct{}{}
	return true
}

func (h *Hub) leave(c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
	h.admitted--
	less(h.users, c.viewer.User)
	less(h.addresses, c.viewer.Address)
	h.metrics.connections.WithLabelValues(c.out.kind()).Dec()
}

func less[K comparable](counts map[K]int, key K) {
	if n := counts[key]; n > 1 {
		counts[key] = n - 1
		return
	}
	delete(counts, key)
}

// bucket is a token bucket; the zero one is full. Its owner guards it.
type bucket struct {
	used float64
	at   int64 // of used, Unix nanoseconds
}

func (b *bucket) take(now time.Time, rate, size float64) bool {
	nanos := now.UnixNano()
	b.used = max(0, b.used-rate*time.Duration(nanos-b.at).Seconds())
	b.at = nanos
	if b.used+1 > size {
		return false
	}
	b.used++
	return true
}
