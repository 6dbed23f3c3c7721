package realtime

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// HandlerConn is a connection that the goroutine of an HTTP handler serves: a
// long poll, or an event stream over HTTP/2.
type HandlerConn struct {
	Conn
	kind      string
	wakes     chan struct{}
	aborted   chan struct{}
	abortOnce sync.Once
	pingDue   atomic.Bool
}

// NewHandlerConn makes a connection that metrics count as kind.
func NewHandlerConn(h *Hub, kind string, v *Viewer) *HandlerConn {
	c := &HandlerConn{kind: kind, wakes: make(chan struct{}, 1), aborted: make(chan struct{})}
	c.Init(h, v, c)
	return c
}

// Start admits and subscribes c, which must be closed unless it fails.
func (c *HandlerConn) Start(ctx context.Context, v *Viewer) error {
	if err := c.Admit(ctx); err != nil {
		return err
	}
	if !c.Open(time.Now()) {
		c.Leave()
		return c.hub.errRestarting()
	}
	if err := c.Subscribe(ctx, v); err != nil {
		c.Close()
		return err
	}
	c.Hold()
	return nil
}

// Wakes receives when messages or a keepalive may be due, or c is ending.
func (c *HandlerConn) Wakes() <-chan struct{} { return c.wakes }

// Aborted is closed when c must be closed at once.
func (c *HandlerConn) Aborted() <-chan struct{} { return c.aborted }

// TakePing reports whether a keepalive is due, once.
func (c *HandlerConn) TakePing() bool { return c.pingDue.Swap(false) }

// Wake implements [Transport].
func (c *HandlerConn) Wake() {
	select {
	case c.wakes <- struct{}{}:
	default:
	}
}

// Ping implements [Transport].
func (c *HandlerConn) Ping() {
	c.pingDue.Store(true)
	c.Wake()
}

// LastHeard implements [Transport]. It is always now: these clients send
// nothing, and a lost one is noticed by a write that fails.
func (c *HandlerConn) LastHeard() time.Time { return time.Now() }

// Closing implements [Transport].
func (c *HandlerConn) Closing() { c.Wake() }

// Abort implements [Transport].
func (c *HandlerConn) Abort() { c.abortOnce.Do(func() { close(c.aborted) }) }

// Kind implements [Transport].
func (c *HandlerConn) Kind() string { return c.kind }

// Wait is a long poll: it returns nil once the board has a newer state than the
// client, and ctx's error if there is none by then. It counts as a connection. A
// board that merely became degraded is not newer, or its clients would poll
// without a pause.
func (h *Hub) Wait(ctx context.Context, v *Viewer) error {
	c := NewHandlerConn(h, "poll", v)
	if err := c.Start(ctx, v); err != nil {
		return err
	}
	defer c.Close()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.aborted:
			return h.errRestarting()
		case <-c.wakes:
		}
		if c.Ending() != nil {
			return h.errRestarting()
		}
		c.mu.Lock()
		s := c.subs[0]
		newer := s.nextState() != nil && (s.epoch != v.LastEpoch || s.version != v.LastVersion)
		c.mu.Unlock()
		if newer {
			return nil
		}
	}
}
