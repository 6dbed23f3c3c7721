package realtime

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Hub knows which boards this node shows and who watches them.
type Hub struct {
	options atomic.Pointer[Options]
	changes Changes
	log     *slog.Logger
	metrics *metrics

	wheel   *wheel
	queue   *queue
	lookups *lookups
	pace    pace

	upgrader *websocket.Upgrader
	buffers  sync.Pool // *[]byte of readBuffer, for the bytes that sockets have
	attempts sync.Pool // *attempt

	life context.Context // ends with Run; what a connection's reader works under
	end  context.CancelFunc
	work sync.WaitGroup // goroutines of connections

	mu        sync.RWMutex
	boards    map[scoreboard.BoardID]*board
	instances map[scoreboard.BoardID][]*board // by what notices name
	conns     map[*conn]struct{}
	users     map[scoreboard.UserID]int // connections of each
	addresses map[string]int
	joins     bucket
	admitted  int // connections; those of conns have a way to the client too
	draining  bool
	closed    bool

	changedMu sync.Mutex
	changed   []*board
	kick      chan struct{}
}

// NewHub makes a hub; it works once Run does.
func NewHub(o Options, c Changes, log *slog.Logger) *Hub {
	o.setDefaults()
	h := &Hub{
		changes: c, log: log,
		upgrader: upgrader(),
		buffers:  sync.Pool{New: func() any { b := make([]byte, readBuffer); return &b }},
		attempts: sync.Pool{New: newAttempt},
		wheel:    newWheel(time.Now()), queue: newQueue(), lookups: newLookups(c, o.RankLookups),
		pace:      pace{base: o.Window, most: o.MaxWindow, limit: o.Lag},
		boards:    make(map[scoreboard.BoardID]*board),
		instances: make(map[scoreboard.BoardID][]*board),
		conns:     make(map[*conn]struct{}),
		users:     make(map[scoreboard.UserID]int),
		addresses: make(map[string]int),
		kick:      make(chan struct{}, 1),
	}
	h.options.Store(&o)
	h.metrics = newMetrics(h)
	h.life, h.end = context.WithCancel(context.Background())
	return h
}

// Run shows boards until ctx ends, then closes every connection and returns
// when all that the hub started has ended.
func (h *Hub) Run(ctx context.Context) error {
	var stations sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		stations.Go(h.queue.write)
	}
	stations.Go(func() { h.lookups.run(ctx) })
	stations.Go(func() { h.check(ctx) })
	h.loop(ctx)

	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end()
	for _, c := range h.connections() {
		c.out.abort()
	}
	h.queue.close()
	stations.Wait()
	h.work.Wait()
	return nil
}

// begin counts in a goroutine that is part of Run, and must say h.work.Done at
// its end; not when Run has ended.
func (h *Hub) begin() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.closed {
		return false
	}
	h.work.Add(1)
	return true
}

// millis is now in milliseconds since the hub was made. It wraps after 49 days;
// only differences count.
func (h *Hub) millis(now time.Time) uint32 { return uint32(now.Sub(h.wheel.start).Milliseconds()) }

// bye is a goodbye with a delay of its own, so that not all come back at once.
func (h *Hub) bye(reason string) *frame {
	delay := rand.N(h.options.Load().ReconnectWithin).Milliseconds()
	f := newFrame(protocol.FrameBye, byeFrame{Type: protocol.FrameBye, Reason: reason, ReconnectAfterMS: delay})
	f.retry = delay
	return f
}

// Notify takes in what the bus said. It never blocks on anything but short locks.
func (h *Hub) Notify(n scoreboard.Notice) {
	h.mu.RLock()
	boards := h.instances[n.Board]
	h.mu.RUnlock()
	if len(boards) == 0 {
		return
	}
	now := time.Now()
	if n.Top != nil && len(n.Moved) > 0 {
		h.pace.note(now.Sub(n.Top.UpdatedAt))
	}
	for _, b := range boards {
		if b.notice(&n, now) {
			h.look(b)
		}
	}
}

// look puts b before the loop.
func (h *Hub) look(b *board) {
	h.changedMu.Lock()
	if !b.listed {
		b.listed = true
		h.changed = append(h.changed, b)
	}
	h.changedMu.Unlock()
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// loop opens and ends windows, and turns the wheel.
func (h *Hub) loop(ctx context.Context) {
	tick := time.NewTicker(wheelTick)
	defer tick.Stop()
	window := time.NewTimer(time.Hour)
	defer window.Stop()
	paced := time.Now()
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
			if now.Sub(paced) >= paceEvery {
				paced = now
				h.pace.note(h.queue.behind(now))
				h.pace.step()
			}
		}
	}
}

// publish shows the changed boards whose window is over, and returns how long
// until the next one's is.
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
	window, widened := h.pace.window()
	for _, b := range ready {
		if b.publish(widened) {
			b.due = now.Add(window)
		}
	}
	return wait
}

func (h *Hub) connections() []*conn {
	h.mu.RLock()
	defer h.mu.RUnlock()
	all := make([]*conn, 0, len(h.conns))
	for c := range h.conns {
		all = append(all, c)
	}
	return all
}
