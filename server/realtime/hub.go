package realtime

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/internal/tracing"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Hub holds the boards that this node streams and the connections to them.
type Hub struct {
	// Tiers returns those of a board, and its order, without waiting: viewers are told when they come
	// into another one. It is set before Run.
	Tiers func(scoreboard.BoardID) (scoreboard.Tiers, scoreboard.Order)
	// Cohorts reads those of viewers who ask for them; nil: viewers have none. It is set before Run.
	Cohorts CohortSource

	options atomic.Pointer[Options]
	source  Source
	users   Users
	tracer  *tracing.Tracer
	log     *slog.Logger
	*metrics

	wheel         *wheel
	queue         *queue
	rankLookups   *rankLookups
	friends       FriendsSource // nil: viewers have none
	friendLookups *friendLookups
	showNow       func(*scoreboard.Top) *scoreboard.Top
	window        adaptiveWindow

	lifetime context.Context // ends with Run
	end      context.CancelFunc
	work     sync.WaitGroup // goroutines of connections

	mu        sync.RWMutex
	boards    map[scoreboard.BoardID]*board
	instances map[scoreboard.BoardID][]*board // by the id in notices
	conns     map[*Conn]struct{}
	networks  networkCounts
	anonymous networkCounts // of connections without a user
	joins     Bucket
	admitted  int // connections, including those not yet in conns
	draining  bool
	closed    bool

	changedMu sync.Mutex
	changed   []*board
	kick      chan struct{}
}

// NewHub returns a hub, which works while Run does. users counts the connections of
// each user; nil counts those of this hub.
func NewHub(o Options, source Source, users Users, log *slog.Logger) *Hub {
	o.setDefaults()
	if users == nil {
		users = &userCounts{open: make(map[scoreboard.UserID]int)}
	}
	h := &Hub{
		source: source, users: users, log: log,
		wheel: newWheel(time.Now()), queue: newQueue(),
		friendLookups: newFriendLookups(o.FriendLookups),
		showNow:       func(top *scoreboard.Top) *scoreboard.Top { return top },
		Tiers:         noTiers,
		window:        adaptiveWindow{base: o.Window, max: o.MaxWindow, maxLag: o.Lag},
		boards:        make(map[scoreboard.BoardID]*board),
		instances:     make(map[scoreboard.BoardID][]*board),
		conns:         make(map[*Conn]struct{}),
		networks:      make(networkCounts),
		anonymous:     make(networkCounts),
		kick:          make(chan struct{}, 1),
	}
	h.options.Store(&o)
	h.rankLookups = newRankLookups(source, func() int { return h.Options().RankLookups })
	h.metrics = newMetrics(h)
	h.lifetime, h.end = context.WithCancel(context.Background())
	return h
}

// Trace makes a span for the first message of each traced change. It is called before Run.
func (h *Hub) Trace(t *tracing.Tracer) { h.tracer = t }

// ShowFriends lets viewers ask for the standings of their friends. It is called before Run.
func (h *Hub) ShowFriends(source FriendsSource) { h.friends = source }

// noTiers is Hub.Tiers where no board has any.
func noTiers(scoreboard.BoardID) (scoreboard.Tiers, scoreboard.Order) { return nil, "" }

// ShowUsers has showNow return each state with those users hidden that must be now: the
// same state if nothing differs. It is called before Run.
func (h *Hub) ShowUsers(showNow func(*scoreboard.Top) *scoreboard.Top) { h.showNow = showNow }

// Reshow publishes every board again, because it has changed who of these users is hidden. When
// it returns, no connection is sent an earlier state.
func (h *Hub) Reshow(changed []scoreboard.UserID) {
	h.mu.RLock()
	boards := make([]*board, 0, len(h.boards))
	for _, b := range h.boards {
		boards = append(boards, b)
	}
	h.mu.RUnlock()
	_, widened := h.window.width()
	for _, b := range boards {
		b.reshow(changed, widened)
	}
}

// Run publishes boards until ctx ends, then closes every connection and returns
// when all that the hub started has ended.
func (h *Hub) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(h.queue.write)
	}
	workers.Go(func() { h.rankLookups.run(ctx) })
	workers.Go(func() { h.friendLookups.run(ctx) })
	workers.Go(func() { h.check(ctx) })
	h.loop(ctx)

	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end()
	for _, c := range h.connections() {
		c.out.Abort()
	}
	h.queue.close()
	workers.Wait()
	h.work.Wait()
	return nil
}

// Begin registers a goroutine of a connection that Run waits for; it must call
// Done at its end. False: Run has ended.
func (h *Hub) Begin() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.closed {
		return false
	}
	h.work.Add(1)
	return true
}

// Done reports the end of a goroutine registered by Begin.
func (h *Hub) Done() { h.work.Done() }

// Context ends when Run does.
func (h *Hub) Context() context.Context { return h.lifetime }

// millis is now in milliseconds since the hub was made. It wraps after 49 days;
// only differences count.
func (h *Hub) millis(now time.Time) uint32 { return uint32(now.Sub(h.wheel.start).Milliseconds()) }

// Notify handles a notice of the ranking. It blocks on short locks only.
func (h *Hub) Notify(n scoreboard.Notice) {
	h.mu.RLock()
	boards := h.instances[n.Board]
	h.mu.RUnlock()
	if len(boards) == 0 {
		return
	}
	now := time.Now()
	if n.Top != nil && len(n.Moved) > 0 {
		h.window.recordLag(now.Sub(n.Top.UpdatedAt))
	}
	for _, b := range boards {
		if b.notify(&n, now) {
			h.markChanged(b)
		}
	}
}

// markChanged makes the loop publish b when its window ends.
func (h *Hub) markChanged(b *board) {
	h.changedMu.Lock()
	if !b.listed {
		b.listed, b.listedAt = true, time.Now()
		h.changed = append(h.changed, b)
	}
	h.changedMu.Unlock()
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// loop publishes boards when their windows end, and advances the wheel.
func (h *Hub) loop(ctx context.Context) {
	tick := time.NewTicker(wheelTick)
	defer tick.Stop()
	window := time.NewTimer(time.Hour)
	defer window.Stop()
	stepped := time.Now()
	var due []*timer
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.kick:
			window.Reset(h.publish(time.Now()))
		case <-window.C:
			window.Reset(h.publish(time.Now()))
		case <-tick.C:
			now := time.Now()
			due = h.wheel.advance(now, due[:0])
			for _, t := range due {
				t.conn.fire(t, now)
			}
			clear(due)
			if now.Sub(stepped) >= windowStepInterval {
				stepped = now
				h.window.recordLag(h.queue.lag(now))
				h.window.step()
			}
		}
	}
}

// publish publishes the changed boards whose window has ended, and returns how
// long until the next window ends.
func (h *Hub) publish(now time.Time) time.Duration {
	wait := time.Hour
	h.changedMu.Lock()
	var ready []*board
	rest := h.changed[:0]
	for _, b := range h.changed {
		if left := b.due.Sub(now); left > 0 {
			rest = append(rest, b)
			wait = min(wait, left)
			continue
		}
		b.listed = false
		ready = append(ready, b)
	}
	clear(h.changed[len(rest):])
	h.changed = rest
	h.changedMu.Unlock()
	width, widened := h.window.width()
	for _, b := range ready {
		if b.publish(widened) {
			b.due = now.Add(width)
		}
	}
	return wait
}

// lagOf is how far the streams of a hub are behind the rankings. While all is well it is about a second at most:
// boards without notices are read so often.
func lagOf(h *Hub, now time.Time) time.Duration {
	worst := h.queue.lag(now)
	h.mu.RLock()
	for _, b := range h.boards {
		worst = max(worst, b.unconfirmed(now))
	}
	h.mu.RUnlock()
	h.changedMu.Lock()
	defer h.changedMu.Unlock()
	for _, b := range h.changed {
		worst = max(worst, now.Sub(b.listedAt))
	}
	return worst
}

func (h *Hub) connections() []*Conn {
	h.mu.RLock()
	defer h.mu.RUnlock()
	all := make([]*Conn, 0, len(h.conns))
	for c := range h.conns {
		all = append(all, c)
	}
	return all
}
