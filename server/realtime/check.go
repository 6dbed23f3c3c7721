package realtime

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// checkParallelism bounds the reads in flight, so that a dead backend does not
// pile up goroutines.
const checkParallelism = 8

// maxUnread is for how many intervals of checks notices alone may tell a board's state: they do not know
// whether its ranking is in doubt.
const maxUnread = 5

// check reads, until ctx ends, the boards that received no whole state for a
// while: this makes up for lost notices, follows a family to its next instance,
// and refreshes a board that is degraded or in doubt.
func (h *Hub) check(ctx context.Context) {
	// Three quarters of silence and at most one until the tick make CheckEvery.
	tick := time.NewTicker(h.options.Load().CheckEvery / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			h.checkOnce(ctx, time.Now())
		}
	}
}

func (h *Hub) checkOnce(ctx context.Context, now time.Time) {
	var g errgroup.Group
	g.SetLimit(checkParallelism)
	for _, b := range h.silent(now) {
		g.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, readTimeout)
			defer cancel()
			top, err := h.source.ReadTop(ctx, b.id)
			h.checked(b, top, err)
			return nil
		})
	}
	_ = g.Wait() // checked has handled each error
}

// silent returns the boards to read, and removes those without subscribers for a
// while.
func (h *Hub) silent(now time.Time) []*board {
	h.mu.Lock()
	defer h.mu.Unlock()
	var silent []*board
	for id, b := range h.boards {
		b.mu.Lock()
		switch {
		case b.latest == nil: // its first read is under way
		case len(b.subs) > 0:
			b.refreshCircles(now.Add(-circleAge))
			if b.mustRead(now, h.options.Load().CheckEvery) {
				silent = append(silent, b)
			}
		case now.Sub(b.left) > h.options.Load().Linger:
			delete(h.boards, id)
			h.unlist(b, b.latest.Board)
		}
		b.mu.Unlock()
	}
	return silent
}

// mustRead reports whether a board is to be read with this check: once an interval while notices do not tell all
// that there is to know, and at once for times that they lack.
func (b *board) mustRead(now time.Time, every time.Duration) bool {
	interval, unread := every*3/4, now.Sub(b.read)
	switch {
	case b.unexplained(), unread >= maxUnread*every:
		return true
	case doubt(b.latest) != "", now.Sub(b.heard) >= interval:
		return unread >= interval
	}
	return false
}

func (h *Hub) checked(b *board, top *scoreboard.Top, err error) {
	if err != nil {
		h.metrics.checks.WithLabelValues("failed").Inc()
		if b.markDegraded(string(wire.CodeOf(err)), time.Now()) {
			h.log.Warn("board cannot be read; streaming its last state", "board", b.id, "err", err)
			h.markChanged(b)
		}
		return
	}
	changed, before := b.update(top, time.Now())
	if before != "" {
		h.mu.Lock()
		h.unlist(b, before)
		h.instances[top.Board] = append(slices.Clone(h.instances[top.Board]), b)
		h.mu.Unlock()
	}
	if !changed {
		h.metrics.checks.WithLabelValues("same").Inc()
		return
	}
	h.metrics.checks.WithLabelValues("changed").Inc()
	h.markChanged(b)
}

// unlist stops notices of an instance from reaching b. The slices of the index
// are read without the lock, so they are replaced and never modified.
func (h *Hub) unlist(b *board, instance scoreboard.BoardID) {
	rest := slices.DeleteFunc(slices.Clone(h.instances[instance]), func(x *board) bool { return x == b })
	if len(rest) == 0 {
		delete(h.instances, instance)
		return
	}
	h.instances[instance] = rest
}

// board returns a board whose first state has been read. Concurrent callers share
// one read.
func (h *Hub) board(ctx context.Context, id scoreboard.BoardID) (*board, error) {
	h.mu.Lock()
	b := h.boards[id]
	if b == nil {
		b = &board{id: id, hub: h, ready: make(chan struct{})}
		h.boards[id] = b
		h.mu.Unlock()
		h.load(b)
		return b, b.err
	}
	b.mu.Lock()
	b.left = time.Now() // the caller has yet to subscribe
	b.mu.Unlock()
	h.mu.Unlock()
	select {
	case <-b.ready:
		return b, b.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// load reads the first state. Its context is the hub's, because other callers
// than the first wait for it too.
func (h *Hub) load(b *board) {
	defer close(b.ready)
	ctx, cancel := context.WithTimeout(h.lifetime, readTimeout)
	defer cancel()
	top, err := h.source.ReadTop(ctx, b.id)
	if err != nil {
		b.err = err
		h.mu.Lock()
		delete(h.boards, b.id)
		h.mu.Unlock()
		return
	}
	now := time.Now()
	b.mu.Lock()
	b.heard, b.read, b.left = now, now, now
	b.latest = h.showNow(top)
	if top.Degraded == "" {
		b.sound = b.latest
	}
	for s := range shapes {
		b.show(s, 0)
	}
	b.mu.Unlock()
	h.mu.Lock()
	h.instances[top.Board] = append(slices.Clone(h.instances[top.Board]), b)
	h.mu.Unlock()
}
