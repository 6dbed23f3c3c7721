package leaderboard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// How long a head is told without being read again, though no notice came; when
// one that nobody asks for is forgotten; how long a caller waits for a version;
// and how old a head may be for who asks too often.
const (
	headLife  = 250 * time.Millisecond
	headIdle  = time.Minute
	maxWait   = time.Second
	firstLook = 10 * time.Millisecond
)

// head is the head of one board in this node's memory.
type head struct {
	now     atomic.Pointer[heldTop]
	changes atomic.Uint64             // notices that it is another now
	asked   atomic.Int64              // when it was last, in seconds
	hid     atomic.Pointer[time.Time] // when somebody was last hidden on the board
}

// heldTop is a head as it was read.
type heldTop struct {
	top     *scoreboard.Top
	at      time.Time
	changes uint64          // that had been told before it was read
	good    *scoreboard.Top // the last that was no stale one, for when nothing answers
}

// heads are those that were asked for in the last minute.
type heads struct {
	mu                sync.RWMutex
	boards            map[scoreboard.BoardID]*head
	swept             time.Time
	hit, miss, helped prometheus.Counter
}

func (h *heads) init(cached *prometheus.CounterVec) {
	h.boards = make(map[scoreboard.BoardID]*head)
	h.hit, h.miss, h.helped = cached.WithLabelValues("top", "hit"), cached.WithLabelValues("top", "miss"), cached.WithLabelValues("place", "head")
}

func (h *heads) find(board scoreboard.BoardID) *head {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.boards[board]
}

func (h *heads) get(board scoreboard.BoardID, now time.Time) *head {
	b := h.find(board)
	if b == nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		if b = h.boards[board]; b == nil {
			h.sweep(now)
			b = &head{}
			h.boards[board] = b
		}
	}
	if second := now.Unix(); b.asked.Load() != second {
		b.asked.Store(second)
	}
	return b
}

// sweep forgets whom nobody asks for: boards come and go with their periods.
func (h *heads) sweep(now time.Time) {
	if now.Sub(h.swept) < headIdle {
		return
	}
	h.swept = now
	for id, b := range h.boards {
		if now.Unix()-b.asked.Load() > int64(headIdle/time.Second) {
			delete(h.boards, id)
		}
	}
}

// fresh returns what is held, if it holds yet.
func (b *head) fresh(now time.Time) *scoreboard.Top {
	held := b.now.Load()
	if held == nil || held.changes != b.changes.Load() || now.Sub(held.at) > headLife {
		return nil
	}
	return held.top
}

// Notify takes in that a batch was applied: a head that it changed is read
// again by the next who asks, and where it hides somebody, nothing of before is
// told to who asks too often.
func (l *Leaderboard) Notify(n scoreboard.Notice) {
	if n.Hides {
		now := time.Now()
		l.heads.get(n.Board, now).hid.Store(&now)
	}
	b := l.heads.find(n.Board)
	if b == nil || n.Top == nil {
		return
	}
	held := b.now.Load()
	if held != nil && held.top.Epoch == n.Top.Epoch && held.top.Version >= n.Top.Version {
		return // it was read after this
	}
	b.changes.Add(1)
}

// Top returns the first scoreboard.TopSize standings of a board. Asked for a
// version it waits a second for it at most, and returns what there is.
func (l *Leaderboard) Top(ctx context.Context, board *scoreboard.Board, minVersion int64) (*scoreboard.Top, error) {
	top, err := l.head(ctx, board)
	if minVersion <= 0 {
		return top, err
	}
	give := time.NewTimer(maxWait)
	defer give.Stop()
	for look := firstLook; err == nil && top.Degraded == "" && top.Version < minVersion; look = min(2*look, headLife) {
		select {
		case <-give.C:
			return top, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(look):
		}
		top, err = l.head(ctx, board)
	}
	return top, err
}

func (l *Leaderboard) head(ctx context.Context, board *scoreboard.Board) (*scoreboard.Top, error) {
	now := time.Now()
	b := l.heads.get(board.ID, now)
	if top := b.fresh(now); top != nil {
		l.heads.hit.Inc()
		return top, nil
	}
	l.heads.miss.Inc()
	return l.load(ctx, board, b)
}

// CachedTop returns the head that is at hand, for who asks too often; nil where
// there is none that is fresh enough.
func (l *Leaderboard) CachedTop(board scoreboard.BoardID) *scoreboard.Top {
	b := l.heads.find(board)
	if b == nil {
		return nil
	}
	if held := b.now.Load(); held != nil && time.Since(held.at) <= b.heldLong() {
		return held.top
	}
	return nil
}

// heldLong is how old an answer about a board may be for who asks too often: of
// after somebody was last hidden.
func (b *head) heldLong() time.Duration {
	if b == nil {
		return keptLong
	}
	if at := b.hid.Load(); at != nil {
		return min(keptLong, time.Since(*at))
	}
	return keptLong
}

// ReadTop reads the head of a board now, past the cache.
func (l *Leaderboard) ReadTop(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Top, error) {
	board, err := l.Catalog.Board(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.load(ctx, board, l.heads.get(board.ID, time.Now()))
}

// load reads a head; everybody who asks at once for a board shares one answer.
func (l *Leaderboard) load(ctx context.Context, board *scoreboard.Board, b *head) (*scoreboard.Top, error) {
	shared := l.flight.DoChan("top "+string(board.ID), func() (any, error) {
		changes := b.changes.Load() // a notice that comes from now on may be of what this read misses
		began := time.Now()
		top, err := l.top(context.WithoutCancel(ctx), board)
		last := b.now.Load()
		var good *scoreboard.Top
		if last != nil {
			good = last.good
		}
		switch {
		case err == nil:
			good = top
		case good != nil:
			stale := *good
			stale.Degraded, stale.State, stale.Epoch, stale.Version = reasonStale, scoreboard.StateRebuilding, 0, 0
			top, err = &stale, nil
		default:
			return nil, err
		}
		b.now.Store(&heldTop{top: top, at: began, changes: changes, good: good})
		return top, err
	})
	select {
	case answer := <-shared:
		if answer.Err != nil {
			return nil, answer.Err
		}
		return answer.Val.(*scoreboard.Top), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *Leaderboard) top(ctx context.Context, board *scoreboard.Board) (top *scoreboard.Top, err error) {
	reason, err := l.ask(ctx, board, func(ctx context.Context) (err error) {
		top, err = l.Ranking.Top(ctx, board.ID)
		return err
	}, func(ctx context.Context) (err error) {
		top, err = l.Fallback.Page(ctx, board, nil, scoreboard.TopSize)
		return err
	})
	if err != nil {
		return nil, err
	}
	top.Degraded, top.State = reason, stateBy(reason, top.State)
	l.Show(ctx, top.Entries)
	return top, nil
}

// stateBy is the state of a board whose answer was degraded for a reason. What
// the ranking says of itself stands where it was its answer.
func stateBy(reason string, said scoreboard.BoardState) scoreboard.BoardState {
	switch reason {
	case "", reasonTruth, reasonNotYet:
		return said
	}
	return scoreboard.StateRebuilding
}
