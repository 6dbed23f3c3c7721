package realtime

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// lookups reads the ranks of users below the top, at a bounded rate. A user is
// in it at most once, so it is bounded by those who watch.
type lookups struct {
	changes Changes
	each    int // look-ups a turn
	mu      sync.Mutex
	asked   []*standing
	some    chan struct{}
}

const (
	lookupTurn    = 100 * time.Millisecond
	lookupsAtOnce = 4
	lookupTimeout = time.Second
)

func newLookups(changes Changes, perSecond int) *lookups {
	each := max(1, perSecond*int(lookupTurn/time.Millisecond)/1000)
	return &lookups{changes: changes, each: each, some: make(chan struct{}, 1)}
}

// ask wants st's rank read. The board's lock is held.
func (l *lookups) ask(st *standing) {
	if st.asked {
		return
	}
	st.asked = true
	l.mu.Lock()
	l.asked = append(l.asked, st)
	l.mu.Unlock()
	select {
	case l.some <- struct{}{}:
	default:
	}
}

// run answers what is asked until ctx ends.
func (l *lookups) run(ctx context.Context) {
	turn := time.NewTicker(lookupTurn)
	defer turn.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.some:
		}
		for l.once(ctx) {
			select {
			case <-ctx.Done():
				return
			case <-turn.C:
			}
		}
	}
}

// once answers one turn's share and reports whether any was asked for.
func (l *lookups) once(ctx context.Context) bool {
	l.mu.Lock()
	n := min(l.each, len(l.asked))
	share := append([]*standing(nil), l.asked[:n]...)
	l.asked = append(l.asked[:0], l.asked[n:]...)
	clear(l.asked[len(l.asked):cap(l.asked)])
	l.mu.Unlock()
	var g errgroup.Group
	g.SetLimit(lookupsAtOnce)
	for _, st := range share {
		g.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
			defer cancel()
			st.answer(l.changes.Place(ctx, st.board.id, st.user))
			return nil
		})
	}
	_ = g.Wait() // each answer was taken in where it belongs
	return n > 0
}
