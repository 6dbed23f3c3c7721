package realtime

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// lookup is a read for one viewer.
type lookup interface{ lookUp(ctx context.Context) }

// lookups does look-ups at a bounded rate. One is queued at most once, so the queue is
// bounded by the number of viewers.
type lookups struct {
	batch  int // look-ups per interval
	mu     sync.Mutex
	queued []lookup
	wake   chan struct{}
}

const (
	lookupInterval    = 100 * time.Millisecond
	lookupParallelism = 4
	lookupTimeout     = time.Second
)

func newLookups(perSecond int) *lookups {
	batch := max(1, perSecond*int(lookupInterval/time.Millisecond)/1000)
	return &lookups{batch: batch, wake: make(chan struct{}, 1)}
}

// enqueue requests a look-up that is not queued.
func (l *lookups) enqueue(one lookup) {
	l.mu.Lock()
	l.queued = append(l.queued, one)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run does what is queued until ctx ends.
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

// once does one batch and reports whether any was queued.
func (l *lookups) once(ctx context.Context) bool {
	l.mu.Lock()
	n := min(l.batch, len(l.queued))
	batch := append([]lookup(nil), l.queued[:n]...)
	l.queued = append(l.queued[:0], l.queued[n:]...)
	clear(l.queued[len(l.queued):cap(l.queued)])
	l.mu.Unlock()
	var g errgroup.Group
	g.SetLimit(lookupParallelism)
	for _, one := range batch {
		g.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
			defer cancel()
			one.lookUp(ctx)
			return nil
		})
	}
	_ = g.Wait() // each look-up has handled its error
	return n > 0
}
