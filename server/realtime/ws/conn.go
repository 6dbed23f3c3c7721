package ws

import (
	"encoding/json"
	"net"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/realtime/internal/socket"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	readLimit = 4 << 10 // of a client's message; beyond it 1009

	// Limits on commands, and separately on pings and pongs: a burst, and a rate per second.
	commandBurst = 20
	commandRate  = 5
)

// conn is a WebSocket. Its own fields are the reader's.
type conn struct {
	socket.Conn
	parser        parser
	commands      realtime.Bucket
	pings         realtime.Bucket // and pongs
	ignored       int             // bytes received after the end was decided
	ignoreInput   bool            // the client violated the protocol
	closeReceived bool
}

func newConn(h *realtime.Hub, v *realtime.Viewer) *conn {
	c := &conn{parser: parser{limit: readLimit}}
	c.Init(h, v, c)
	return c
}

// Kind implements [realtime.Transport].
func (c *conn) Kind() string { return "websocket" }

// Encoding implements [socket.Protocol].
func (c *conn) Encoding() realtime.Encoding { return realtime.WebSocket }

// Encode implements [socket.Protocol].
func (c *conn) Encode(f *realtime.Message) []byte { return encode(f) }

func encode(f *realtime.Message) []byte {
	return f.Encoded(realtime.WebSocket, func(f *realtime.Message) []byte {
		return appendFrame(make([]byte, 0, len(f.JSON)+4), opText, f.JSON)
	})
}

// Keepalive implements [socket.Protocol].
func (c *conn) Keepalive() []byte { return pingFrame }

// CloseMessage implements [socket.Protocol].
func (c *conn) CloseMessage(code int, reason string) []byte {
	if code == wire.CloseSlowConsumer && reason == socket.SlowConsumer {
		return slowFrame // shared by all connections
	}
	return closeFrame(code, reason)
}

// Receive implements [socket.Protocol].
func (c *conn) Receive(data []byte) bool {
	if c.Ending() != nil {
		c.ignored += len(data)
	}
	if !c.ignoreInput {
		if v := c.parser.feed(data, c.message); v != nil {
			c.ignoreInput, c.parser = true, parser{}
			c.Finish(v.code, v.reason, nil)
		}
	}
	return !c.closeReceived && c.ignored < socket.MaxIgnored
}

// message handles a message of the client and reports whether to read on.
func (c *conn) message(op byte, payload []byte) bool {
	switch {
	case op == opClose:
		c.closeReceived = true
		c.WriteClose(appendFrame(nil, opClose, payload[:min(len(payload), 2)]))
		return false
	case c.Ending() != nil:
	case (op == opPing || op == opPong) && !c.pings.Take(time.Now(), commandRate, commandBurst):
		c.Finish(wire.CloseLimit, "too many pings", nil)
	case op == opPing:
		_ = c.Write(appendFrame(nil, opPong, payload)) // an error ends the reader
	case op == opPong:
	case !c.commands.Take(time.Now(), commandRate, commandBurst):
		c.Finish(wire.CloseLimit, "too many commands", nil)
	case c.Format().Commands:
		onOwnStack(func() { c.command(payload) })
	}
	return true
}

// onOwnStack runs f on another goroutine, so that the reader's stack, which would
// not shrink again, stays small.
func onOwnStack(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (c *conn) command(data []byte) {
	var cmd wire.Command
	if err := json.Unmarshal(data, &cmd); err != nil {
		err := scoreboard.Errorf(wire.CodeInvalidRequest, "a command must be a JSON object with type and board")
		c.ReplyError(err, "")
		return
	}
	id, err := scoreboard.ParseBoardID(cmd.Board)
	switch {
	case err != nil:
	case cmd.Type == "subscribe":
		err = c.Subscribe(c.Hub().Context(), &realtime.Viewer{Board: id})
	case cmd.Type == "unsubscribe":
		c.Unsubscribe(id)
	default:
		err = scoreboard.Invalid("type", "type must be subscribe or unsubscribe")
	}
	if err != nil {
		c.ReplyError(err, id)
	}
}

// linger reads what a refused client still sends, until it closes too, so that
// the close reaches it. The connection has a deadline.
func linger(c net.Conn) {
	buf := make([]byte, 512)
	p := parser{limit: readLimit}
	for n, closed := 0, false; n < socket.MaxIgnored && !closed; {
		m, err := c.Read(buf)
		if err != nil {
			return
		}
		n += m
		v := p.feed(buf[:m], func(op byte, _ []byte) bool {
			closed = closed || op == opClose
			return true
		})
		if v != nil {
			p = parser{limit: readLimit}
		}
	}
}
