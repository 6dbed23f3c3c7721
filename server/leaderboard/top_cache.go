package leaderboard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	// topTTL is how long a cached top is served without a notice.
	topTTL = 250 * time.Millisecond
	// topIdle is how long a top that is not requested stays in the cache.
	topIdle = time.Minute
	// maxWait is how long a caller waits for a version, polling from firstPoll on.
	maxWait   = time.Second
	firstPoll = 10 * time.Millisecond
)

// boardTop is the cached top of one board.
type boardTop struct {
	cached    atomic.Pointer[cachedTop]
	notices   atomic.Uint64             // notices of newer tops
	requested atomic.Int64              // Unix seconds of the last request
	hiddenAt  atomic.Pointer[time.Time] // when a user was last hidden on the board
}

// cachedTop is a top as it was read, or as a notice made it.
type cachedTop struct {
	top     *scoreboard.Top
	at      time.Time
	notices uint64          // boardTop.notices when the read began
	last    *scoreboard.Top // the last that is not stale, for when nothing answers
}

// topCache has the tops that were requested in the last minute.
type topCache struct {
	mu                sync.RWMutex
	boards            map[scoreboard.BoardID]*boardTop
	swept             time.Time
	hit, miss, placed prometheus.Counter
}

func (h *topCache) init(cached *prometheus.CounterVec) {
	h.boards = make(map[scoreboard.BoardID]*boardTop)
	h.hit, h.miss = cached.WithLabelValues("top", "hit"), cached.WithLabelValues("top", "miss")
	h.placed = cached.WithLabelValues("place", "top")
}

func (h *topCache) find(board scoreboard.BoardID) *boardTop {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.boards[board]
}

func (h *topCache) get(board scoreboard.BoardID, now time.Time) *boardTop {
	b := h.find(board)
	if b == nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		if b = h.boards[board]; b == nil {
			h.sweep(now)
			b = &boardTop{}
			h.boards[board] = b
		}
	}
	if second := now.Unix(); b.requested.Load() != second {
		b.requested.Store(second)
	}
	return b
}

// sweep removes idle tops: boards come and go with their periods.
func (h *topCache) sweep(now time.Time) {
	if now.Sub(h.swept) < topIdle {
		return
	}
	h.swept = now
	for id, b := range h.boards {
		if now.Unix()-b.requested.Load() > int64(topIdle/time.Second) {
			delete(h.boards, id)
		}
	}
}

// fresh returns the cached top while it may be served.
func (b *boardTop) fresh(now time.Time) *scoreboard.Top {
	c := b.cached.Load()
	if c == nil || c.notices != b.notices.Load() || now.Sub(c.at) > topTTL {
		return nil
	}
	return c.top
}

// Notify handles a notice of the ranking. A notice that carries everything
// replaces the cached top, so that the next read needs no trip to Redis; any
// other newer one invalidates it. After a notice that hides a user, nothing
// older is served to clients over their limit.
//
// The rows of n must be as others may see them, and must not be changed afterwards.
func (l *Leaderboard) Notify(n scoreboard.Notice) {
	if n.Hides {
		now := time.Now()
		l.tops.get(n.Board, now).hiddenAt.Store(&now)
	}
	b := l.tops.find(n.Board)
	if b == nil || n.Top == nil {
		return
	}
	before := b.cached.Load()
	if before != nil && before.top.Epoch == n.Top.Epoch && before.top.Version >= n.Top.Version {
		return // it was read after this batch
	}
	next := &cachedTop{at: time.Now(), notices: b.notices.Add(1)}
	if before == nil || l.StoreUnavailable() {
		return
	}
	if next.top = advance(before.top, &n); next.top != nil {
		next.last = next.top
		// Fails where a read has ended meanwhile. That is invalid by now if it
		// began before this notice, and newer otherwise.
		b.cached.CompareAndSwap(before, next)
	}
}

// advance returns the top that a notice makes of the one before, or nil where
// it must be read: the notice does not directly follow, was sent by an older
// build, or lacks the time at which a row was reached.
func advance(before *scoreboard.Top, n *scoreboard.Notice) *scoreboard.Top {
	top := n.Top
	switch {
	case before.Degraded != "", before.State != scoreboard.StateHealthy, top.AsOf.IsZero(), n.Hides,
		top.Epoch != before.Epoch, int64(len(top.Entries)) < min(top.Total, scoreboard.TopSize):
		return nil
	}
	next := top.After(before, n.Moved)
	if next.Reached == nil {
		return nil
	}
	next.State = before.State
	return next
}

// Top returns the first scoreboard.TopSize standings of a board. With minVersion
// it waits up to a second for that version, and then returns the current one.
func (l *Leaderboard) Top(
	ctx context.Context, board *scoreboard.Board, minVersion int64,
) (*scoreboard.Top, error) {
	top, err := l.freshTop(ctx, board)
	if minVersion <= 0 {
		return top, err
	}
	timeout := time.NewTimer(maxWait)
	defer timeout.Stop()
	for poll := firstPoll; err == nil && top.Degraded == "" && top.Version < minVersion; poll = min(2*poll, topTTL) {
		select {
		case <-timeout.C:
			return l.topOfPrimary(ctx, board, top), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(poll):
		}
		top, err = l.freshTop(ctx, board)
	}
	return top, err
}

func (l *Leaderboard) freshTop(ctx context.Context, board *scoreboard.Board) (*scoreboard.Top, error) {
	now := time.Now()
	b := l.tops.get(board.ID, now)
	if top := b.fresh(now); top != nil {
		l.tops.hit.Inc()
		return l.ShowNow(top), nil
	}
	l.tops.miss.Inc()
	return l.load(ctx, board, b)
}

// CachedTop returns the cached top, for clients over their limit; nil if none is
// recent enough.
func (l *Leaderboard) CachedTop(board scoreboard.BoardID) *scoreboard.Top {
	b := l.tops.find(board)
	if b == nil {
		return nil
	}
	if c := b.cached.Load(); c != nil && time.Since(c.at) <= b.maxStale() {
		return l.ShowNow(c.top)
	}
	return nil
}

// maxStale is how old an answer may be for clients over their limit. It must not
// be from before a user was last hidden.
func (b *boardTop) maxStale() time.Duration {
	if b == nil {
		return cacheTTL
	}
	if at := b.hiddenAt.Load(); at != nil {
		return min(cacheTTL, time.Since(*at))
	}
	return cacheTTL
}

// ReadTop reads the top of a board now, past the cache.
func (l *Leaderboard) ReadTop(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Top, error) {
	board, err := l.Catalog.Board(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.load(ctx, board, l.tops.get(board.ID, time.Now()))
}

// load reads a top into the cache. Concurrent callers share one read.
func (l *Leaderboard) load(ctx context.Context, board *scoreboard.Board, b *boardTop) (*scoreboard.Top, error) {
	shared := l.flight.DoChan("top "+string(board.ID), func() (any, error) {
		notices := b.notices.Load() // a notice from now on may be of a change that this read misses
		began := time.Now()
		top, err := l.top(context.WithoutCancel(ctx), board)
		for {
			before := b.cached.Load()
			if err == nil && before != nil {
				top = l.newer(before.last, top)
			}
			next := &cachedTop{top: top, at: began, notices: notices, last: top}
			switch {
			case err == nil && before != nil && before.notices > notices && top.Degraded == "" &&
				before.top.Degraded == "" && before.top.Epoch == top.Epoch && before.top.Version >= top.Version:
				return before.top, nil // a notice was faster
			case err == nil:
			case before != nil && before.last != nil:
				stale := *before.last
				stale.Degraded, stale.State = scoreboard.ReasonStale, scoreboard.StateRebuilding
				stale.Epoch, stale.Version = 0, 0
				next.top, next.last = &stale, before.last
			default:
				return nil, err
			}
			if b.cached.CompareAndSwap(before, next) {
				return next.top, nil
			}
		}
	})
	select {
	case answer := <-shared:
		if answer.Err != nil {
			return nil, answer.Err
		}
		return l.ShowNow(answer.Val.(*scoreboard.Top)), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *Leaderboard) top(ctx context.Context, board *scoreboard.Board) (top *scoreboard.Top, err error) {
	shown := l.Display.Version()
	reason, err := l.withFallback(ctx, board, func(ctx context.Context) (err error) {
		top, err = l.ranking.Top(ctx, board)
		return err
	}, func(ctx context.Context) (err error) {
		top, err = l.fallback.Page(ctx, board, nil, scoreboard.TopSize)
		return err
	})
	if err != nil {
		return nil, err
	}
	mark(reason, &top.Degraded, &top.State)
	top.Subscores = board.HasSubscores()
	l.Display.Show(ctx, board.ID, top.Entries, "")
	top.Shown = shown
	return top, nil
}

// degradedState is the state of a board in an answer. Where the ranking answered,
// its own state stands.
func degradedState(reason string, state scoreboard.BoardState) scoreboard.BoardState {
	switch reason {
	case "", reasonStoreDown, reasonNotYet, reasonBehind:
		return state
	}
	return scoreboard.StateRebuilding
}
