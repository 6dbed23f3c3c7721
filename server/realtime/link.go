package realtime

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	closeRestart = websocket.CloseServiceRestart
	slowConsumer = "slow consumer"

	readLimit = 4 << 10 // of a client's message; beyond it 1009

	// A client may send so many commands at once, and so many a second; pings too.
	commandBurst = 20
	commandRate  = 5

	// closeWait is how long a client may take to answer a close. What it still
	// sends is read, up to lingerBytes, because closing on unread bytes resets
	// the connection and the close code may be lost.
	closeWait   = 2 * time.Second
	lingerBytes = 4 << 20
)

// link is a connection over a socket of the hub's own: a WebSocket, or
// server-sent events. What is due is written by the hub's writers under the
// connection's lock; its reader is a goroutine of its own.
type link struct {
	conn
	socket socket
	events bool // not a WebSocket
	said   bool // the last is written, or being written; guarded by the lock

	queued  atomic.Bool
	pinging atomic.Bool
	last    atomic.Int64 // when the client was last heard of, Unix nanoseconds

	// The reader's own.
	parser   parser
	commands bucket
	pings    bucket
	lingered int
	deaf     bool // it broke the protocol; nothing it sends is looked at
	closed   bool // it has said its close
}

func (h *Hub) link(v Viewer, j Join) *link {
	c := &link{conn: conn{hub: h, viewer: v, limit: shapeOf(j.Limit), delta: j.Delta}}
	c.out = c
	// Who the viewer is may be part of the request's line, which would live as
	// long as the connection, token and all.
	c.viewer.User = scoreboard.UserID(strings.Clone(string(v.User)))
	c.viewer.Address = strings.Clone(v.Address)
	c.last.Store(time.Now().UnixNano())
	return c
}

// gone ends it all; the reader is the last to know.
func (c *link) gone() {
	c.abort()
	c.close()
	reason := "client"
	if e := c.ending.Load(); e != nil {
		reason = e.reason
	}
	c.hub.metrics.closed.WithLabelValues(reason).Inc()
}

// flush writes what is due as far as the socket takes it. It is called by the
// hub's writers. Where a write fails the socket has closed itself, and the reader
// ends.
func (c *link) flush() {
	c.queued.Store(false)
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.said && !c.socket.stalled() {
		if e := c.ending.Load(); e != nil {
			c.farewell(e)
			return
		}
		f := c.next(now)
		if f == nil {
			break
		}
		if c.send(f) != nil {
			return
		}
	}
	if !c.said && !c.socket.stalled() && c.pinging.Swap(false) {
		_ = c.socket.write(c.stillHere())
	}
}

func (c *link) stillHere() []byte {
	if c.events {
		return pingEvent
	}
	return pingFrame
}

// send writes a frame. The lock is held.
func (c *link) send(f *frame) error {
	var message []byte
	if c.events {
		message = f.event(c.eventID())
	} else {
		message = f.message()
	}
	if err := c.socket.write(message); err != nil {
		return err
	}
	c.hub.metrics.frame(f.kind)
	return nil
}

// farewell writes what is still to be said, and ends the stream.
func (c *link) farewell(e *ending) {
	c.said = true
	for _, f := range c.replies {
		if c.send(f) != nil {
			return
		}
	}
	if e.bye != nil && c.send(e.bye) != nil {
		return
	}
	if c.events {
		c.socket.end()
		return
	}
	c.socket.last(closeFrame(e.code, e.reason))
}

func (c *link) wake() {
	if !c.queued.Swap(true) {
		c.hub.queue.push(c)
	}
}

func (c *link) ping() {
	c.pinging.Store(true)
	c.wake()
}

// heard is now for events: their client says nothing, and a lost one shows by
// what is not taken.
func (c *link) heard() time.Time {
	if c.events {
		return time.Now()
	}
	return time.Unix(0, c.last.Load())
}

func (c *link) kind() string {
	if c.events {
		return "sse"
	}
	return "websocket"
}

// closing gives the client a moment to take the close.
func (c *link) closing() {
	c.patience()
	c.wake()
}

// patience ends the reader, and with it the connection, after closeWait.
func (c *link) patience() { _ = c.socket.SetReadDeadline(time.Now().Add(closeWait)) }

func (c *link) abort() { _ = c.socket.Close() }

// drained is called when a stall is over. For a slow client the socket has said
// the close, if it could.
func (c *link) drained(slow bool) {
	if slow {
		c.ending.CompareAndSwap(nil, &ending{code: protocol.CloseSlowConsumer, reason: slowConsumer})
		c.patience()
	}
	c.wake()
}
