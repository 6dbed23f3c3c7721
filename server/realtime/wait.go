package realtime

import "context"

// Wait returns nil once the board shows something newer than what j says the
// client has last, at once if it does already, and ctx's error if it does not by
// then: a long poll. It counts as a connection while it waits. A board that only
// became degraded is not newer, or its clients would poll without a pause.
func (h *Hub) Wait(ctx context.Context, v Viewer, j Join) error {
	c := h.handled("poll", v, j)
	if err := c.begin(ctx, j); err != nil {
		return err
	}
	defer c.close()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.gone:
			return h.restarting()
		case <-c.wakes:
		}
		if c.ending.Load() != nil {
			return h.restarting()
		}
		c.mu.Lock()
		s := c.subs[0]
		newer := s.nextState() != nil && (s.epoch != j.LastEpoch || s.version != j.LastVersion)
		c.mu.Unlock()
		if newer {
			return nil
		}
	}
}
