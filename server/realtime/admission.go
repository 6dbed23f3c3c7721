package realtime

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Users counts the open connections of each user.
type Users interface {
	// Join counts a connection of a user unless the user has limit of them; 0 is no
	// limit. It returns how many the user has then.
	Join(ctx context.Context, user scoreboard.UserID, limit int) (open int, ok bool)
	// Leave ends what Join counted. It does not block.
	Leave(user scoreboard.UserID)
}

// Admit counts the connection, or rejects it: rate_limited over a limit,
// unavailable while the hub drains or is off. An admitted connection must be
// closed, or given back with Leave.
func (c *Conn) Admit(ctx context.Context) error {
	if err := c.hub.admit(c); err != nil {
		return err
	}
	if c.user == "" {
		return nil
	}
	limit := c.hub.options.Load().ConnectionsPerUser
	if own := c.format.ConnectionsPerUser; own > 0 && (limit == 0 || own < limit) {
		limit = own
	}
	open, ok := c.hub.users.Join(ctx, c.user, limit)
	if !ok {
		c.hub.release(c)
		return c.hub.reject("user", fmt.Sprintf("%d of %d streams of this user are in use", open, limit))
	}
	return nil
}

// Leave gives back an admission that was not used.
func (c *Conn) Leave() {
	c.hub.release(c)
	if c.user != "" {
		c.hub.users.Leave(c.user)
	}
}

// admit counts c for all limits but the one by user.
func (h *Hub) admit(c *Conn) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.options.Load()
	switch {
	case h.draining || h.closed:
		h.metrics.rejected.WithLabelValues("draining").Inc()
		return h.errRestarting()
	case o.Off:
		h.metrics.rejected.WithLabelValues("off").Inc()
		return &scoreboard.Error{
			Code:       wire.CodeUnavailable,
			Message:    "streams are disabled; poll the leaderboard instead",
			RetryAfter: offRetry,
		}
	case o.ConnectionsPerNode > 0 && h.admitted >= o.ConnectionsPerNode:
		return h.reject("node", "all streams of this server are in use")
	case h.networks.full(c, o.ConnectionsPerAddress):
		return h.reject("address", "all streams of this address are in use")
	case c.user == "" && h.anonymous.full(c, o.AnonymousPerAddress):
		return h.reject("anonymous", "all streams without a token from this address are in use")
	case o.JoinsPerSecond > 0 && !h.joins.Take(time.Now(), float64(o.JoinsPerSecond), float64(o.JoinsPerSecond)):
		return h.reject("rate", "too many new streams; try again later")
	}
	h.admitted++
	if c.user == "" {
		h.anonymous.add(c)
	}
	h.networks.add(c)
	h.metrics.connections.WithLabelValues(c.format.Name, c.out.Kind()).Inc()
	return nil
}

func (h *Hub) reject(limit, message string) error {
	h.metrics.rejected.WithLabelValues(limit).Inc()
	return &scoreboard.Error{Code: wire.CodeRateLimited, Message: message, RetryAfter: time.Second}
}

// release ends what admit counted.
func (h *Hub) release(c *Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
	h.admitted--
	if c.user == "" {
		h.anonymous.remove(c)
	}
	h.networks.remove(c)
	h.metrics.connections.WithLabelValues(c.format.Name, c.out.Kind()).Dec()
}

// userCounts counts the connections of one hub.
type userCounts struct {
	mu   sync.Mutex
	open map[scoreboard.UserID]int
}

func (u *userCounts) Join(_ context.Context, user scoreboard.UserID, limit int) (open int, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if limit > 0 && u.open[user] >= limit {
		return u.open[user], false
	}
	u.open[user]++
	return u.open[user], true
}

func (u *userCounts) Leave(user scoreboard.UserID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	decrement(u.open, user)
}

// register adds an admitted connection whose transport is ready. False: the hub
// has closed.
func (h *Hub) register(c *Conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.conns[c] = struct{}{}
	return true
}

// errRestarting tells a client to come back after about the delay that a bye
// would give it.
func (h *Hub) errRestarting() error {
	return &scoreboard.Error{
		Code: wire.CodeUnavailable, Message: "the server is restarting",
		RetryAfter: max(time.Second, h.options.Load().ReconnectWithin/2),
	}
}

// networkCounts counts connections by the network of their client, and by its site.
type networkCounts map[string]int

// full reports whether limit connections from c's network are open, or
// scoreboard.SiteFactor times as many from its site. A limit of 0 is off.
func (n networkCounts) full(c *Conn, limit int) bool {
	if limit == 0 || c.network == "" {
		return false
	}
	return n[c.network] >= limit || c.site != "" && n[c.site]/scoreboard.SiteFactor >= limit
}

func (n networkCounts) add(c *Conn) {
	n[c.network]++
	if c.site != "" {
		n[c.site]++
	}
}

func (n networkCounts) remove(c *Conn) {
	decrement(n, c.network)
	if c.site != "" {
		decrement(n, c.site)
	}
}

func decrement[K comparable](counts map[K]int, key K) {
	if n := counts[key]; n > 1 {
		counts[key] = n - 1
		return
	}
	delete(counts, key)
}

// Bucket is a token bucket; the zero value is full. The caller synchronises.
type Bucket struct {
	used float64
	at   int64 // of used, Unix nanoseconds
}

// Take takes one token from a bucket that holds size and refills at rate a
// second. False: it is empty.
func (b *Bucket) Take(now time.Time, rate, size float64) bool {
	nanos := now.UnixNano()
	b.used = max(0, b.used-rate*time.Duration(nanos-b.at).Seconds())
	b.at = nanos
	if b.used+1 > size {
		return false
	}
	b.used++
	return true
}
