package realtime

import (
	"context"
	"net/http"
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

// stream writes what is due until there is a reason to end, and returns that.
func (c *handled) stream(ctx context.Context, out *eventWriter) string {
	if out.write(nil) != nil { // the head: an event may be long in coming
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
		for f, event := c.take(); f != nil; f, event = c.take() {
			if out.write(event) != nil {
				return slowConsumer
			}
			c.hub.metrics.frame(f.kind)
		}
		if e := c.ending.Load(); e != nil {
			if e.bye != nil {
				_ = out.write(c.bye(e)) // it is over either way
			}
			return e.reason
		}
		if c.pinging.Swap(false) && out.write(pingEvent) != nil {
			return slowConsumer
		}
	}
}

// take returns the next event, and the frame that it is of.
func (c *handled) take() (*frame, []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.next(time.Now())
	if f == nil {
		return nil, nil
	}
	return f, f.event(c.eventID())
}

func (c *handled) bye(e *ending) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return e.bye.event(c.eventID())
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

func (e *eventWriter) write(event []byte) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(e.slowAfter)); err != nil {
		return err
	}
	if len(event) > 0 {
		if _, err := e.w.Write(event); err != nil {
			return err
		}
	}
	if err := e.control.Flush(); err != nil {
		return err
	}
	// Over HTTP/2 a deadline ends the stream when it comes, also where nothing
	// is being written: between two signs of life that is longer than slowAfter.
	return e.control.SetWriteDeadline(time.Time{})
}
