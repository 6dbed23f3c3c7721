package sse

import (
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/realtime/internal/socket"
)

// kind is the label of event streams in metrics.
const kind = "sse"

// conn is an event stream over a socket.
type conn struct {
	socket.Conn
	ignored int // bytes that the client sent; the reader's own
}

func newConn(h *realtime.Hub, v *realtime.Viewer) *conn {
	c := &conn{}
	c.Init(h, v, c)
	return c
}

// Kind implements [realtime.Transport].
func (c *conn) Kind() string { return kind }

// LastHeard implements [realtime.Transport]. It is always now: an EventSource
// sends nothing, and a lost client is noticed by a write that fails.
func (c *conn) LastHeard() time.Time { return time.Now() }

// Encoding implements [socket.Protocol].
func (c *conn) Encoding() realtime.Encoding { return realtime.SSE }

// Encode implements [socket.Protocol].
func (c *conn) Encode(f *realtime.Message) []byte { return event(f, c.EventID()) }

// Keepalive implements [socket.Protocol].
func (c *conn) Keepalive() []byte { return pingComment }

// CloseMessage implements [socket.Protocol]: a stream just ends.
func (c *conn) CloseMessage(int, string) []byte { return nil }

// Receive implements [socket.Protocol]. A client has nothing to send.
func (c *conn) Receive(data []byte) bool {
	c.ignored += len(data)
	return c.ignored < socket.MaxIgnored
}

var pingComment = []byte(": ping\n\n")

// event returns f as an event. A message that is no state gets the id of the last
// state, which the client names when it reconnects.
func event(f *realtime.Message, id string) []byte {
	encoded := f.Encoded(realtime.SSE, encode)
	if f.ID != "" || id == "" {
		return encoded
	}
	return append(appendLine(make([]byte, 0, len(encoded)+len(id)+8), "id: ", id), encoded...)
}

func encode(f *realtime.Message) []byte {
	b := make([]byte, 0, len(f.JSON)+len(f.Kind)+len(f.ID)+48)
	if f.ID != "" {
		b = appendLine(b, "id: ", f.ID)
	}
	if f.RetryMS > 0 {
		b = appendLine(b, "retry: ", strconv.FormatInt(f.RetryMS, 10))
	}
	b = appendLine(b, "event: ", f.Kind)
	b = append(b, "data: "...)
	b = append(b, f.JSON...)
	return append(b, "\n\n"...)
}

func appendLine(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, value...)
	return append(b, '\n')
}
