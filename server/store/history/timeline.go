package history

import (
	"container/heap"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Beyond these numbers of events and this time, a timeline goes on in another read.
const (
	timelineEvents = 200_000
	timelineTime   = time.Second
)

// Timeline returns the first rows of a board at times, which rise, as Top returns them at each. A
// time at which the rows are those of the time before has no frame. It also returns how many of
// the times it covers: at least one, and fewer than all if there are many events between them.
// Only Now and Masked of at matter.
func (m *PastBoards) Timeline(
	ctx context.Context, board *scoreboard.Board, at scoreboard.PastTime, times []time.Time, limit int,
) (frames []scoreboard.Frame, covered int, err error) {
	at.At = times[len(times)-1]
	err = m.inSnapshot(ctx, board, at.At, true, func(ctx context.Context, tx pgx.Tx) error {
		began := time.Now()
		past := &series{tx: tx, board: board, at: at, budget: m.maxEvents}
		spans, err := past.spans(ctx, times)
		if err == nil {
			err = past.load(ctx)
		}
		if err != nil {
			return err
		}
		for _, span := range spans {
			if covered > 0 && (past.budget < m.maxEvents-timelineEvents || time.Since(began) > timelineTime) {
				return nil
			}
			next, n, err := past.frames(ctx, span, limit, covered > 0)
			if err != nil {
				return err
			}
			frames, covered = appendFrames(frames, next), covered+n
			if n < len(span) {
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return frames, covered, nil
}

// appendFrames appends frames, but not a first one that equals the last.
func appendFrames(frames, next []scoreboard.Frame) []scoreboard.Frame {
	if len(frames) > 0 && len(next) > 0 && slices.Equal(frames[len(frames)-1].Entries, next[0].Entries) {
		next = next[1:]
	}
	return append(frames, next...)
}

// frames returns the frames at times that are read from one checkpoint, and how many times they
// cover: fewer if all need more events than one read may. None is an answer if optional.
func (a *series) frames(
	ctx context.Context, times []time.Time, limit int, optional bool,
) (frames []scoreboard.Frame, covered int, err error) {
	budget := a.budget
	s, err := a.newSweep(ctx, times)
	if a.budget < 0 && optional {
		return nil, 0, nil
	}
	for a.budget < 0 && len(times) > 1 {
		a.budget, times = budget, times[:len(times)/2]
		s, err = a.newSweep(ctx, times)
	}
	if err != nil {
		return nil, 0, err
	}
	f := &timeline{sweep: s, limit: limit}
	s.tally = f.tally
	if err := f.begin(ctx); err != nil {
		return nil, 0, err
	}
	s.play(func(i int, changed bool) {
		if i > 0 && !changed {
			return
		}
		frame := scoreboard.Frame{At: times[i], Total: f.count, Entries: f.top()}
		frames = appendFrames(frames, []scoreboard.Frame{frame})
	})
	return frames, len(times), nil
}

// timeline is the first rows of a board during a sweep: the best of the users who move, and of those
// who do not.
type timeline struct {
	*sweep
	limit int
	still []scoreboard.Position // the best of the checkpoint who do not move, in order
	best  positions             // of those who move; some are not current any more
}

// begin takes the users who move out of the checkpoint, and finds the best of the others.
func (f *timeline) begin(ctx context.Context) error {
	found, err := f.beginKnown(ctx)
	if err != nil {
		return err
	}
	f.count -= int64(len(found) + len(f.beginOthers()))
	// The way to the last one who does not move passes all who can be in a frame, and tells the
	// times that the moves do not.
	err = f.walk(ctx, &scoreboard.Position{Key: -scoreboard.MaxScore - 1}, func(p *scoreboard.Position) bool {
		m := f.movers[p.User]
		if m == nil {
			f.still = append(f.still, *p)
		} else if _, known := found[p.User]; !known && m.ReachedAt.IsZero() {
			m.Position = *p
		}
		return len(f.still) < f.limit
	})
	if err != nil {
		return err
	}
	for u, m := range f.movers {
		if f.shown(u, m) {
			f.add(&m.Position, 1)
		}
	}
	return nil
}

// tally keeps a standing that can be in a frame. One without a time is too far behind.
func (f *timeline) tally(p *scoreboard.Position, n int64) {
	if n < 0 || p.ReachedAt.IsZero() {
		return
	}
	if len(f.still) < f.limit || p.Compare(&f.still[len(f.still)-1]) < 0 {
		heap.Push(&f.best, *p)
	}
}

// top returns the first rows now.
func (f *timeline) top() []scoreboard.Entry {
	var best []scoreboard.Position
	for len(f.best) > 0 && len(best) < f.limit {
		p := heap.Pop(&f.best).(scoreboard.Position) //nolint:forcetypeassert // there are no others
		m := f.movers[p.User]
		if !f.shown(p.User, m) || m.Position.Compare(&p) != 0 || len(best) > 0 && best[len(best)-1].Compare(&p) == 0 {
			continue // not current any more, or twice
		}
		best = append(best, p)
	}
	for i := range best {
		heap.Push(&f.best, best[i])
	}
	best = append(best, f.still...)
	slices.SortFunc(best, func(p, q scoreboard.Position) int { return p.Compare(&q) })
	entries := make([]scoreboard.Entry, min(f.limit, len(best)))
	for i := range entries {
		entries[i] = f.entry(&best[i], int64(i+1))
	}
	if f.series.board.SharesRanks() {
		scoreboard.ShareRanks(entries, 1)
	}
	return entries
}

// positions is a heap, the best first.
type positions []scoreboard.Position

func (p positions) Len() int           { return len(p) }
func (p positions) Less(i, j int) bool { return p[i].Compare(&p[j]) < 0 }
func (p positions) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *positions) Push(x any)        { *p = append(*p, x.(scoreboard.Position)) } //nolint:forcetypeassert // as above
func (p *positions) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}
