package realtime

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// rankLookups reads the standings of viewers below the top, those of one board together. One
// is queued at most once and leaves the queue with its last viewer, so the queue is bounded by
// the number of viewers.
type rankLookups struct {
	*turns[*standing]
	source    Source
	perSecond func() int
}

// maxRankLookup is how many standings one read has: what the API allows its clients, too.
const maxRankLookup = 100

func newRankLookups(source Source, perSecond func() int) *rankLookups {
	return &rankLookups{turns: newTurns[*standing](), source: source, perSecond: perSecond}
}

// run does what is queued until ctx ends. After a round it waits at least as long as that
// took, so that it leaves half of the time of a busy ranking to others.
func (l *rankLookups) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		}
		for began := time.Now(); l.round(ctx); began = time.Now() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(max(lookupInterval, time.Since(began))):
			}
		}
	}
}

// round does as many look-ups as an interval allows and reports whether any was queued.
func (l *rankLookups) round(ctx context.Context) bool {
	batch := l.take(max(1, l.perSecond()*int(lookupInterval/time.Millisecond)/1000))
	boards := make(map[*board][]*standing)
	for _, st := range batch {
		boards[st.board] = append(boards[st.board], st)
	}
	var g errgroup.Group
	g.SetLimit(lookupParallelism)
	for b, all := range boards {
		for some := range slices.Chunk(all, maxRankLookup) {
			g.Go(func() error {
				l.read(ctx, b, some)
				return nil
			})
		}
	}
	_ = g.Wait() // each read has handled its error
	return len(batch) > 0
}

// read looks up standings of a board.
func (l *rankLookups) read(ctx context.Context, b *board, some []*standing) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	users := make([]scoreboard.UserID, len(some))
	b.mu.Lock()
	for i, st := range some {
		users[i] = st.user
		st.queued = false // a move from now on may be missing in what is read, and queues it again
	}
	b.mu.Unlock()
	list, err := l.source.ReadPlaces(ctx, b.id, users)
	found := make(map[scoreboard.UserID]*scoreboard.Entry, len(some))
	if err == nil {
		for i := range list.Entries {
			found[list.Entries[i].ID()] = &list.Entries[i]
		}
	}
	for _, st := range some {
		st.resolve(list, found[st.user], err)
	}
}
