package realtime

import (
	"context"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Drain rejects new connections and closes the open ones gradually, each with a
// random reconnect delay, so that they do not all come back at once. It returns
// when all are closed, or with an error when ctx ends first; the end of Run
// closes the rest.
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
			return fmt.Errorf("drain: %d connections still open: %w", left, ctx.Err())
		case <-tick.C:
		}
	}
}

// dismiss starts the end of n connections and returns how many are left,
// including those that are ending or about to open.
func (h *Hub) dismiss(n int) int {
	for _, c := range h.connections() {
		if n == 0 {
			break
		}
		if c.ending.Load() == nil {
			c.Finish(wire.CloseRestart, "restart", c.bye("restart"))
			n--
		}
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.admitted
}

// DrainTime returns how long Drain takes at the configured pace.
func (h *Hub) DrainTime() time.Duration {
	o := h.options.Load()
	rounds := (100 + o.DrainPercent - 1) / o.DrainPercent
	return time.Duration(rounds) * o.DrainEvery
}
