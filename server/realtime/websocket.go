package realtime

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
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

	// A client may send so many commands and pings at once, and so many a second.
	commandBurst = 20
	commandRate  = 5

	// closeWait is how long a client may take to answer a close. What it still
	// sends is read, up to lingerBytes, because closing on unread bytes resets
	// the connection and the close code may be lost.
	closeWait   = 2 * time.Second
	lingerBytes = 4 << 20
)

// webSocket is a connection over a WebSocket. Its frames are written by the
// hub's writers under the connection's lock; its reader is a goroutine of its own.
type webSocket struct {
	conn
	socket socket
	said   bool // the close is written, or being written; guarded by the lock

	queued  atomic.Bool
	pinging atomic.Bool
	last    atomic.Int64 // when the client was last heard of, Unix nanoseconds

	// The reader's own.
	parser   parser
	commands bucket
	lingered int
	deaf     bool // it broke the protocol; nothing it sends is looked at
	closed   bool // it has said its close
}

// upgrader shakes hands; its connection is let go, so its buffers are small. The
// caller checks the Origin. Frames are small and encoded once for all: there is
// no compression.
func upgrader() *websocket.Upgrader {
	return &websocket.Upgrader{
		ReadBufferSize:   1,
		WriteBufferPool:  &sync.Pool{},
		HandshakeTimeout: closeWait,
		CheckOrigin:      func(*http.Request) bool { return true },
		Error:            func(http.ResponseWriter, *http.Request, int, error) {},
	}
}

// ServeWebSocket upgrades r and shows v what j asks for until the connection
// ends; it returns when the connection is open. An error, always a
// scoreboard.Error, means that nothing was written. All other refusals are
// closes with a code.
func (h *Hub) ServeWebSocket(w http.ResponseWriter, r *http.Request, v Viewer, j Join) error {
	now := time.Now()
	c := &webSocket{conn: conn{hub: h, viewer: v, limit: shapeOf(j.Limit), delta: j.Delta}}
	c.out = c
	// Who the viewer is may be part of the request's line, which would live as
	// long as the connection, token and all.
	c.viewer.User = scoreboard.UserID(strings.Clone(string(v.User)))
	c.viewer.Address = strings.Clone(v.Address)
	c.last.Store(now.UnixNano())
	c.parser.limit = readLimit
	if err := h.admit(&c.conn); err != nil {
		return Refuse(w, r, closeCode(err), err.Error())
	}
	ws, err := h.upgrader.Upgrade(w, r, nil)
	if err != nil {
		h.leave(&c.conn)
		return badHandshake(err)
	}
	c.socket.init(ws.NetConn(), h, c.drained)
	if !c.open(now) || !h.begin() {
		c.gone()
		return nil
	}
	ctx, cancel := context.WithTimeout(h.life, readTimeout)
	defer cancel()
	if err := c.subscribe(ctx, j); err != nil {
		c.reply(refusal(err, j.Board))
		c.finish(closeCode(err), string(scoreboard.CodeOf(err)), nil)
	}
	// A fresh goroutine reads: the handler's stack and buffers are let go.
	go c.read()
	return nil
}

// Refuse upgrades r and closes it at once with code, which is how a browser
// learns why. An error means that nothing was written.
func Refuse(w http.ResponseWriter, r *http.Request, code int, reason string) error {
	ws, err := upgrader().Upgrade(w, r, nil)
	if err != nil {
		return badHandshake(err)
	}
	c := ws.NetConn()
	defer func() { _ = c.Close() }() // the client has been told
	if c.SetDeadline(time.Now().Add(closeWait)) != nil {
		return nil
	}
	if _, err := c.Write(closeFrame(code, reason)); err == nil {
		linger(ws)
	}
	return nil
}

func badHandshake(err error) error {
	return &scoreboard.Error{
		Code: scoreboard.CodeInvalidRequest, Message: "not a WebSocket handshake", Err: err,
	}
}

// closeCode is the close code for a refusal.
func closeCode(err error) int {
	switch scoreboard.CodeOf(err) {
	case scoreboard.CodeUnauthorized:
		return protocol.CloseToken
	case scoreboard.CodeForbidden, scoreboard.CodeNotFound, scoreboard.CodeInvalidRequest:
		return protocol.CloseForbidden
	case scoreboard.CodeRateLimited:
		return protocol.CloseLimit
	default: // may come back later
		return closeRestart
	}
}

// refusal is the frame that answers a command.
func refusal(err error, board scoreboard.BoardID) *frame {
	f := errorFrame{Type: protocol.FrameError, ErrorCode: string(scoreboard.CodeOf(err)), Board: string(board)}
	var known *scoreboard.Error
	if errors.As(err, &known) {
		f.Message, f.Field = known.Message, known.Field
	} else {
		f.Message = "something broke"
	}
	return newFrame(protocol.FrameError, f)
}

// gone ends it all; the reader is the last to know.
func (c *webSocket) gone() {
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
func (c *webSocket) flush() {
	c.queued.Store(false)
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.said && !c.socket.stalled() {
		if e := c.ending.Load(); e != nil {
			c.farewell(e)
			return
		}
		f, _ := c.next(now)
		if f == nil {
			break
		}
		if c.send(f) != nil {
			return
		}
	}
	if !c.said && !c.socket.stalled() && c.pinging.Swap(false) {
		_ = c.socket.write(pingFrame)
	}
}

func (c *webSocket) send(f *frame) error {
	if err := c.socket.write(f.message()); err != nil {
		return err
	}
	c.hub.metrics.frame(f.kind)
	return nil
}

// farewell writes what is still to be said, and the close.
func (c *webSocket) farewell(e *ending) {
	c.said = true
	for _, f := range c.replies {
		if c.send(f) != nil {
			return
		}
	}
	if e.bye != nil && c.send(e.bye) != nil {
		return
	}
	c.socket.last(closeFrame(e.code, e.reason))
}

func (c *webSocket) wake() {
	if !c.queued.Swap(true) {
		c.hub.queue.push(c)
	}
}

func (c *webSocket) ping() {
	c.pinging.Store(true)
	c.wake()
}

func (c *webSocket) heard() time.Time { return time.Unix(0, c.last.Load()) }

func (c *webSocket) kind() string { return "websocket" }

// closing gives the client a moment to take the close.
func (c *webSocket) closing() {
	c.patience()
	c.wake()
}

// patience ends the reader, and with it the connection, after closeWait.
func (c *webSocket) patience() { _ = c.socket.SetReadDeadline(time.Now().Add(closeWait)) }

func (c *webSocket) abort() { _ = c.socket.Close() }

// drained is called when a stall is over. For a slow client the socket has said
// the close, if it could.
func (c *webSocket) drained(slow bool) {
	if slow {
		c.ending.CompareAndSwap(nil, &ending{code: protocol.CloseSlowConsumer, reason: slowConsumer})
		c.patience()
	}
	c.wake()
}
