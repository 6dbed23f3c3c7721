package realtime

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// read takes what the client sends until the connection ends. There is one such
// goroutine for every idle connection, so it stays small: see receive and aside.
func (c *link) read() {
	defer c.hub.work.Done()
	for {
		more, err := c.socket.receive(c.take)
		if err != nil || !more {
			break
		}
	}
	c.gone()
}

// take takes bytes and reports whether to read on.
func (c *link) take(data []byte) bool {
	c.last.Store(time.Now().UnixNano())
	if c.events || c.ending.Load() != nil { // nothing is expected
		c.lingered += len(data)
	}
	if !c.deaf {
		if bad := c.parser.feed(data, c.message); bad != nil {
			c.deaf, c.parser = true, parser{}
			c.finish(bad.code, bad.reason, nil)
		}
	}
	return !c.closed && c.lingered < lingerBytes
}

// message takes a message of the client and reports whether to read on.
func (c *link) message(op byte, payload []byte) bool {
	switch {
	case op == opClose:
		c.closed = true
		c.socket.last(appendFrame(nil, opClose, payload[:min(len(payload), 2)]))
		return false
	case op == opPong || c.ending.Load() != nil:
	case op == opPing && !c.pings.take(time.Now(), commandRate, commandBurst):
		c.finish(protocol.CloseLimit, "too many pings", nil)
	case op == opPing:
		_ = c.socket.write(appendFrame(nil, opPong, payload)) // an error ends the reader
	case !c.commands.take(time.Now(), commandRate, commandBurst):
		c.finish(protocol.CloseLimit, "too many commands", nil)
	default:
		aside(func() { c.command(payload) })
	}
	return true
}

// aside runs f on a stack of its own, because a stack that has grown stays so.
func aside(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (c *link) command(data []byte) {
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

// linger reads what a refused client still sends, so that the close reaches it,
// until the client closes too. The connection has a deadline.
func linger(ws *websocket.Conn) {
	buf := make([]byte, 512)
	p := parser{limit: readLimit}
	for n, closed := 0, false; n < lingerBytes && !closed; {
		m, err := ws.NetConn().Read(buf)
		if err != nil {
			return
		}
		n += m
		bad := p.feed(buf[:m], func(op byte, _ []byte) bool {
			closed = closed || op == opClose
			return true
		})
		if bad != nil {
			p = parser{limit: readLimit}
		}
	}
}
