package realtime

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// handled is a connection that the goroutine of an HTTP handler serves.
type handled struct {
	conn
	transport string
	wakes     chan struct{}
	gone      chan struct{}
	abortOnce sync.Once
	pinging   atomic.Bool
}

func (h *Hub) handled(transport string, v Viewer, j Join) *handled {
	c := &handled{
		conn:      conn{hub: h, viewer: v, limit: shapeOf(j.Limit), delta: j.Delta},
		transport: transport, wakes: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	c.out = c
	return c
}

// begin admits and subscribes c. Whoever begins without an error must close.
func (c *handled) begin(ctx context.Context, j Join) error {
	if err := c.hub.admit(&c.conn); err != nil {
		return err
	}
	if !c.open(time.Now()) {
		c.hub.leave(&c.conn)
		return c.hub.restarting()
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := c.subscribe(ctx, j); err != nil {
		c.close()
		return err
	}
	return nil
}

// ServeSSE shows v what j asks for as server-sent events until the client goes
// or the connection ends. An error, always a scoreboard.Error, means that
// nothing was written. The request's writer must reach the connection by
// http.ResponseController, and no server-wide write timeout may be set.
func (h *Hub) ServeSSE(w http.ResponseWriter, r *http.Request, v Viewer, j Join) error {
	c := h.handled("sse", v, j)
	if err := c.begin(r.Context(), j); err != nil {
		return err
	}
	defer c.close()
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-store")
	head.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	out := eventWriter{w, http.NewResponseController(w), h.options.SlowAfter}
	reason := c.stream(r.Context(), &out)
	h.metrics.closed.WithLabelValues(reason).Inc()
	return nil
}

// stream writes what is due until there is a reason to end, and returns that.
func (c *handled) stream(ctx context.Context, out *eventWriter) string {
	if out.write(nil, nil) != nil { // the head: an event may be long in coming
		return "client"
	}
	for {
		select {
		case <-ctx.Done():
			return "client"
		case <-c.gone:
			return "restart"
		case <-c.wakes:
		}
		for f, id := c.take(); f != nil; f, id = c.take() {
			if out.write(id, f.event()) != nil {
				return "slow consumer"
			}
			c.hub.metrics.frame(f.kind)
		}
		if e := c.ending.Load(); e != nil {
			if e.bye != nil {
				_ = out.write(c.lastID(), e.bye.event()) // it is over either way
			}
			return e.reason
		}
		if c.pinging.Swap(false) && out.write(nil, []byte(": ping\n\n")) != nil {
			return "slow consumer"
		}
	}
}

// take returns the next frame and the id line that goes before it.
func (c *handled) take() (*frame, []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, s := c.next(time.Now())
	if f == nil {
		return nil, nil
	}
	return f, s.id()
}

func (c *handled) lastID() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.subs[0].id()
}

// id is the line that lets a client resume. What was degraded cannot be resumed
// from: the same version may have other rows once the ranking is back.
func (s *subscription) id() []byte {
	epoch, version := s.epoch, s.version
	if s.cloudy {
		epoch, version = 0, 0
	}
	b := append(make([]byte, 0, 48), "id: "...)
	b = strconv.AppendInt(b, epoch, 10)
	b = append(b, ':')
	b = strconv.AppendInt(b, version, 10)
	return append(b, '\n')
}

func (c *handled) wake() {
	select {
	case c.wakes <- struct{}{}:
	default:
	}
}

func (c *handled) ping() {
	c.pinging.Store(true)
	c.wake()
}

// heard is now: who listens to events says nothing, and a lost client shows by
// a write that is not taken.
func (c *handled) heard() time.Time { return time.Now() }

func (c *handled) closing() { c.wake() }

func (c *handled) abort() { c.abortOnce.Do(func() { close(c.gone) }) }

func (c *handled) kind() string { return c.transport }

// eventWriter writes events, each with a deadline of its own.
type eventWriter struct {
	w         http.ResponseWriter
	control   *http.ResponseController
	slowAfter time.Duration
}

func (e *eventWriter) write(id, event []byte) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(e.slowAfter)); err != nil {
		return err
	}
	for _, part := range [...][]byte{id, event} {
		if len(part) == 0 {
			continue
		}
		if _, err := e.w.Write(part); err != nil {
			return err
		}
	}
	return e.control.Flush()
}
