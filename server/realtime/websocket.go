package realtime

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	closeRestart = websocket.CloseServiceRestart

	readLimit  = 4 << 10 // of a client's message; beyond it 1009
	readBuffer = 128     // longer messages are read in parts; every idle connection has one

	// A client may send so many commands at once, and so many a second.
	commandBurst = 20
	commandRate  = 5

	// closeWait is how long a client may take to answer a close.
	closeWait = 2 * time.Second
	// lingerBytes of what a client still sends are read after a close, because
	// closing on unread bytes resets the connection and the close code is lost.
	lingerBytes = 4 << 20
)

// webSocket is a connection over a WebSocket. Its writes are by the hub's
// writers under the connection's lock, its reads by a goroutine of its own.
type webSocket struct {
	conn
	ws       *websocket.Conn
	socket   socket
	commands bucket // the reader's own

	queued  atomic.Bool
	pinging atomic.Bool
	last    atomic.Int64 // when the client was last heard of, Unix nanoseconds
	said    bool         // the close frame is written; guarded by the lock
}

// upgrader takes what the caller let in: the caller checks the Origin. Frames
// are encoded once for all and small, and gorilla's compression is experimental.
func upgrader() *websocket.Upgrader {
	return &websocket.Upgrader{
		ReadBufferSize:   readBuffer,
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
	c.socket.owner = c
	if err := h.admit(&c.conn); err != nil {
		return Refuse(w, r, closeCode(err), err.Error())
	}
	ws, err := h.upgrader.Upgrade(&hijacker{w, &c.socket}, r, nil)
	if err != nil {
		h.leave(&c.conn)
		return badHandshake(err)
	}
	c.ws = ws
	if !c.open(now) {
		c.gone()
		return nil
	}
	ctx, cancel := context.WithTimeout(h.life, readTimeout)
	defer cancel()
	if err := c.subscribe(ctx, j); err != nil {
		c.reply(refusal(err, j.Board))
		c.finish(closeCode(err), string(scoreboard.CodeOf(err)), nil)
	}
	if !h.begin() {
		c.gone()
		return nil
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
	defer func() { _ = ws.Close() }() // the client has been told
	deadline := time.Now().Add(closeWait)
	if ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, clip(reason)), deadline) == nil {
		linger(ws, deadline)
	}
	return nil
}

func badHandshake(err error) error {
	return &scoreboard.Error{
		Code: scoreboard.CodeInvalidRequest, Message: "not a WebSocket handshake", Err: err,
	}
}

// clip makes a reason fit a close frame.
func clip(reason string) string { return reason[:min(len(reason), 123)] }

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

// read takes messages until the connection ends. It does nothing itself, because
// it waits here: a goroutine that fits the smallest stack, of 2 KiB, when it
// parks in a read keeps it, and there is one for every idle connection.
func (c *webSocket) read() {
	c.listen()
	for c.message(c.ws.NextReader()) {
	}
	c.gone()
	c.hub.work.Done()
}

// listen sets what the client's frames do.
func (c *webSocket) listen() {
	c.ws.SetReadLimit(readLimit)
	c.ws.SetPongHandler(func(string) error {
		c.touch()
		return nil
	})
	answer := c.ws.PingHandler()
	c.ws.SetPingHandler(func(data string) error {
		c.touch()
		if !c.allowed() {
			return nil
		}
		return answer(data)
	})
}

// message takes one message and reports whether there may be another.
func (c *webSocket) message(kind int, r io.Reader, err error) bool {
	var data []byte
	if err == nil {
		data, err = io.ReadAll(r)
	}
	if err != nil {
		// Gorilla told the client why, unless the client or the hub closed.
		var closed *websocket.CloseError
		if c.ending.Load() == nil && !errors.As(err, &closed) {
			linger(c.ws, time.Now().Add(closeWait))
		}
		return false
	}
	c.touch()
	switch {
	case c.ending.Load() != nil:
	case kind != websocket.TextMessage:
		c.finish(websocket.CloseUnsupportedData, "text messages only", nil)
	case !utf8.Valid(data):
		c.finish(websocket.CloseInvalidFramePayloadData, "invalid UTF-8", nil)
	case c.allowed():
		c.command(data)
	}
	return true
}

// linger reads what the client still sends, so that the close reaches it.
func linger(ws *websocket.Conn, deadline time.Time) {
	raw := ws.NetConn()
	_ = raw.SetReadDeadline(deadline) // on a dead connection the read says so
	_, _ = io.CopyN(io.Discard, raw, lingerBytes)
}

func (c *webSocket) touch() { c.last.Store(time.Now().UnixNano()) }

// allowed counts a message of the client, and ends the connection of one who
// sends too many.
func (c *webSocket) allowed() bool {
	if c.commands.take(time.Now(), commandRate, commandBurst) {
		return true
	}
	c.finish(protocol.CloseLimit, "too many commands", nil)
	return false
}

func (c *webSocket) command(data []byte) {
	var cmd protocol.Command
	if err := json.Unmarshal(data, &cmd); err != nil {
		c.reply(refusal(scoreboard.Errorf(scoreboard.CodeInvalidRequest, "a command is a JSON object with type and board"), ""))
		return
	}
	id, err := scoreboard.ParseBoardID(cmd.Board)
	switch {
	case err != nil:
	case cmd.Type == "subscribe":
		ctx, cancel := context.WithTimeout(c.hub.life, readTimeout)
		err = c.subscribe(ctx, Join{Board: id})
		cancel()
	case cmd.Type == "unsubscribe":
		c.unsubscribe(id)
	default:
		err = scoreboard.Invalid("type", "type must be subscribe or unsubscribe")
	}
	if err != nil {
		c.reply(refusal(err, id))
	}
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
// hub's writers.
func (c *webSocket) flush() {
	c.queued.Store(false)
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.said && !c.socket.stalled() {
		if e := c.ending.Load(); e != nil {
			c.farewell(e, now)
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
		// An error has closed the socket, and the reader ends.
		_ = c.ws.WriteControl(websocket.PingMessage, nil, now.Add(closeWait))
	}
}

func (c *webSocket) send(f *frame) error {
	if err := c.ws.WritePreparedMessage(f.prepared()); err != nil {
		return err // the socket has closed itself, and the reader ends
	}
	c.hub.metrics.frame(f.kind)
	return nil
}

// farewell writes what is still to be said and the close.
func (c *webSocket) farewell(e *ending, now time.Time) {
	c.said = true
	for _, f := range c.replies {
		if c.send(f) != nil {
			return
		}
	}
	if e.bye != nil && c.send(e.bye) != nil {
		return
	}
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(e.code, e.reason), now.Add(closeWait))
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
	c.end()
	c.wake()
}

func (c *webSocket) end() { _ = c.socket.SetReadDeadline(time.Now().Add(closeWait)) }

func (c *webSocket) abort() { _ = c.socket.Conn.Close() }

// slow notes why the connection ends; the socket does the rest.
func (c *webSocket) slow() {
	c.ending.CompareAndSwap(nil, &ending{code: protocol.CloseSlowConsumer, reason: "slow consumer"})
}
