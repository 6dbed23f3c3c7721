package realtime

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// lookups reads the ranks of users below the top, at a bounded rate. A user is
// queued at most once, so the queue is bounded by the number of viewers.
type lookups struct {
	source Source
	batch  int // look-ups per interval
	mu     sync.Mutex
	queued []*standing
	wake   chan struct{}
}

const (
	lookupInterval    = 100 * time.Millisecond
	lookupParallelism = 4
	lookupTimeout     = time.Second
)

func newLookups(source Source, perSecond int) *lookups {
	batch := max(1, perSecond*int(lookupInterval/time.Millisecond)/1000)
	return &lookups{source: source, batch: batch, wake: make(chan struct{}, 1)}
}

// enqueue requests the rank of st. The board's lock is held.
func (l *lookups) enqueue(st *standing) {
	if st.queued {
		return
	}
	st.queued = true
	l.mu.Lock()
	l.queued = append(l.queued, st)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run reads queued ranks until ctx ends.
func (l *lookups) run(ctx context.Context) {
	tick := time.NewTicker(lookupInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		}
		for l.once(ctx) {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}
}

// once reads one batch and reports whether any was queued.
func (l *lookups) once(ctx context.Context) bool {
	l.mu.Lock()
	n := min(l.batch, len(l.queued))
	batch := append([]*standing(nil), l.queued[:n]...)
	l.queued = append(l.queued[:0], l.queued[n:]...)
	clear(l.queued[len(l.queued):cap(l.queued)])
	l.mu.Unlock()
	var g errgroup.Group
	g.SetLimit(lookupParallelism)
	for _, st := range batch {
		g.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
			defer cancel()
			st.resolve(l.source.ReadPlace(ctx, st.board.id, st.user))
			return nil
		})
	}
	_ = g.Wait() // resolve has handled each error
	return n > 0
}
