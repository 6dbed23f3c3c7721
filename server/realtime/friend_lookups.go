package realtime

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// friendLookups reads the lists of friends of circles at a bounded rate. A circle is queued at
// most once and leaves the queue with its last viewer, so the queue is bounded by the number
// of viewers.
type friendLookups struct {
	*turns[*circle]
	batch int // look-ups per interval
}

const (
	lookupInterval    = 100 * time.Millisecond
	lookupParallelism = 4
	lookupTimeout     = time.Second
)

func newFriendLookups(perSecond int) *friendLookups {
	batch := max(1, perSecond*int(lookupInterval/time.Millisecond)/1000)
	return &friendLookups{turns: newTurns[*circle](), batch: batch}
}

// run does what is queued until ctx ends.
func (l *friendLookups) run(ctx context.Context) {
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
func (l *friendLookups) once(ctx context.Context) bool {
	batch := l.take(l.batch)
	cohorts := make(map[*board][]*circle)
	for _, one := range batch {
		one.begin()
		if one.cohort {
			cohorts[one.board] = append(cohorts[one.board], one)
		}
	}
	var g errgroup.Group
	g.SetLimit(lookupParallelism)
	do := func(what func(ctx context.Context)) {
		g.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
			defer cancel()
			what(ctx)
			return nil
		})
	}
	var mu sync.Mutex
	told := make(map[*circle]bool)
	for b, waiting := range cohorts {
		do(func(ctx context.Context) {
			some := b.withoutCohort(ctx, waiting)
			mu.Lock()
			defer mu.Unlock()
			for _, c := range some {
				told[c] = true
			}
		})
	}
	_ = g.Wait() // each look-up has handled its error
	for _, one := range batch {
		if !told[one] {
			do(one.lookUp)
		}
	}
	_ = g.Wait()
	return len(batch) > 0
}
