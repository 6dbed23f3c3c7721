package realtime

import (
	"context"
	"fmt"
	"time"
)

// Drain refuses new joins and says goodbye to every connection at a pace, each
// with a reconnect delay of its own: whoever is closed at once is back at once.
// It returns when all are gone, or with an error when ctx ends before; Run's
// end then closes the rest.
func (h *Hub) Drain(ctx context.Context) error {
	h.mu.Lock()
	h.draining = true
	share := max(1, (len(h.conns)*h.options.Load().DrainPercent+99)/100)
	h.mu.Unlock()
	tick := time.NewTicker(h.options.Load().DrainEvery)
	defer tick.Stop()
	for {
		left := h.dismiss(share)
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("say goodbye to %d connections: %w", left, ctx.Err())
		case <-tick.C:
		}
	}
}

// dismiss lets n connections end and returns how many are left, those included
// that are ending or about to open.
func (h *Hub) dismiss(n int) int {
	for _, c := range h.connections() {
		if n == 0 {
			break
		}
		if c.ending.Load() == nil {
			c.finish(closeRestart, "restart", h.bye("restart"))
			n--
		}
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.admitted
}

// DrainTime is how long a drain takes at its pace.
func (h *Hub) DrainTime() time.Duration {
	rounds := (100 + h.options.Load().DrainPercent - 1) / h.options.Load().DrainPercent
	return time.Duration(rounds) * h.options.Load().DrainEvery
}
