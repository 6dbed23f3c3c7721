package socket

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
)

// closeWait is how long a client may take to answer a close.
const closeWait = 2 * time.Second

// MaxIgnored is how many bytes are read and ignored from a client that is not
// expected to send anything: closing with unread bytes resets the connection,
// and the close code may be lost.
const MaxIgnored = 4 << 20

// SlowConsumer is the reason for closing a client that does not read.
const SlowConsumer = "slow consumer"

// Protocol is how a transport frames what it sends and reads what it receives.
type Protocol interface {
	realtime.Transport
	// Encoding is how frames are encoded.
	Encoding() realtime.Encoding
	// Encode returns a frame as bytes.
	Encode(f *realtime.Message) []byte
	// Keepalive returns the bytes of a ping.
	Keepalive() []byte
	// CloseMessage returns the last bytes before the end of the stream, if any.
	CloseMessage(code int, reason string) []byte
	// Receive handles bytes from the client and reports whether to read on. It
	// runs on the reader's goroutine.
	Receive(data []byte) bool
}

// Conn is a realtime connection over a socket. The hub's writers write its frames,
// and its own goroutine reads.
type Conn struct {
	realtime.Conn
	protocol Protocol
	socket   socket

	writing   sync.Mutex // held while frames are written
	closeSent bool       // the last bytes are written or being written; guarded by writing

	queued    atomic.Bool
	pingDue   atomic.Bool
	lastHeard atomic.Int64 // Unix nanoseconds
}

// Init prepares c, which p embeds, for Admit.
func (c *Conn) Init(h *realtime.Hub, v *realtime.Viewer, p Protocol) {
	c.protocol = p
	c.Conn.Init(h, v, p)
	c.lastHeard.Store(time.Now().UnixNano())
}

// Open attaches an admitted connection to its socket. False: the hub has closed,
// and c with it. Otherwise Read must be called.
func (c *Conn) Open(raw net.Conn) bool {
	c.socket.init(raw, c.Hub(), c.protocol.CloseMessage(wire.CloseSlowConsumer, SlowConsumer), c.stallEnded)
	if raw.SetDeadline(time.Time{}) != nil || !c.Conn.Open(time.Now()) || !c.Hub().Begin() {
		c.release()
		return false
	}
	return true
}

// Read reads from the client until the connection ends, and releases it.
func (c *Conn) Read() {
	defer c.Hub().Done()
	for {
		more, err := c.socket.receive(c.receive)
		if err != nil || !more {
			break
		}
	}
	c.release()
}

func (c *Conn) receive(data []byte) bool {
	c.lastHeard.Store(time.Now().UnixNano())
	return c.protocol.Receive(data)
}

func (c *Conn) release() {
	c.Abort()
	c.Close()
	reason := "client"
	if e := c.Ending(); e != nil {
		reason = e.Reason
	}
	c.Hub().CountClosed(reason)
}

// Write writes p now, or as soon as what stalls before it is written. After an
// error the connection is closed and its reader ends.
func (c *Conn) Write(p []byte) error { return c.socket.write(p) }

// WriteClose writes the last bytes and ends the stream.
func (c *Conn) WriteClose(p []byte) { c.socket.writeLast(p) }

// Flush implements [realtime.Flusher]: it writes the frames that are due until
// the socket stalls.
func (c *Conn) Flush() {
	c.queued.Store(false)
	now := time.Now()
	c.writing.Lock()
	defer c.writing.Unlock()
	for !c.closeSent && !c.socket.stalled() {
		if e := c.Ending(); e != nil {
			c.writeClose(e)
			return
		}
		f := c.Next(now)
		if f == nil {
			break
		}
		if c.send(f) != nil {
			return
		}
	}
	if !c.closeSent && !c.socket.stalled() && c.pingDue.Swap(false) {
		_ = c.socket.write(c.protocol.Keepalive())
	}
}

func (c *Conn) send(f *realtime.Message) error {
	if err := c.socket.write(c.protocol.Encode(f)); err != nil {
		return err
	}
	c.Hub().CountSent(f, c.protocol.Encoding())
	return nil
}

// writeClose writes pending replies, the bye and the close.
func (c *Conn) writeClose(e *realtime.Ending) {
	c.closeSent = true
	for _, f := range c.TakeReplies() {
		if c.send(f) != nil {
			return
		}
	}
	if e.Bye != nil && c.send(e.Bye) != nil {
		return
	}
	c.socket.writeLast(c.protocol.CloseMessage(e.Code, e.Reason))
}

// Wake implements [realtime.Transport].
func (c *Conn) Wake() {
	if !c.queued.Swap(true) {
		c.Hub().Enqueue(c)
	}
}

// Ping implements [realtime.Transport].
func (c *Conn) Ping() {
	c.pingDue.Store(true)
	c.Wake()
}

// LastHeard implements [realtime.Transport].
func (c *Conn) LastHeard() time.Time { return time.Unix(0, c.lastHeard.Load()) }

// Closing implements [realtime.Transport].
func (c *Conn) Closing() {
	c.limitRead()
	c.Wake()
}

// limitRead ends the reader, and with it the connection, after closeWait.
func (c *Conn) limitRead() { _ = c.socket.SetReadDeadline(time.Now().Add(closeWait)) }

// Abort implements [realtime.Transport].
func (c *Conn) Abort() { _ = c.socket.Close() }

// stallEnded is called when nothing is left to write. If the client was slow, the
// socket has written the close too.
func (c *Conn) stallEnded(slow bool) {
	if slow {
		c.SetEnding(wire.CloseSlowConsumer, SlowConsumer)
		c.limitRead()
	}
	c.Wake()
}
