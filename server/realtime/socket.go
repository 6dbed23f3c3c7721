package realtime

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// socket is a connection whose Write never waits. What the kernel does not take
// at once is kept and written by a goroutine that lives until it is gone; until
// then the hub writes no further frame, so what is kept is one frame and a few
// control frames. A client who does not take it within SlowAfter is closed with
// 4408, and gets the same time again to read so far.
//
// Every Write must be of whole WebSocket frames; gorilla's are.
type socket struct {
	net.Conn
	raw   syscall.RawConn // nil where a write cannot be tried, as under TLS
	owner *webSocket      // told when the kept is gone

	in     attempt // the reader's own
	mu     sync.Mutex
	kept   []byte
	busy   bool // the goroutine is writing
	failed error
}

const (
	// maxKept bounds control frames behind a stalled frame.
	maxKept = 4 << 10
	// socketBuffer is asked of the kernel for each connection: three of the
	// largest frames. Left to itself it grows to megabytes, and a client who
	// stopped reading is noticed when those are full.
	socketBuffer = 32 << 10
)

var errKeptTooMuch = errors.New("too many control frames for a stalled client")

// attempt is one read(2) or write(2), with what it was called with and returned.
// Its func is made once, so that a call allocates nothing.
type attempt struct {
	buf []byte
	n   int
	err error
	try func(fd uintptr) bool
}

// write never waits for the socket; read lets the caller wait for bytes.
func (a *attempt) write(fd uintptr) bool {
	for {
		if a.n, a.err = syscall.Write(int(fd), a.buf); a.err != syscall.EINTR {
			return true
		}
	}
}

func (a *attempt) read(fd uintptr) bool {
	for {
		if a.n, a.err = syscall.Read(int(fd), a.buf); a.err != syscall.EINTR {
			return a.err != syscall.EAGAIN
		}
	}
}

var writes = sync.Pool{New: func() any {
	a := &attempt{}
	a.try = a.write
	return a
}}

// Read is the connection's own, in fewer steps: the goroutine that waits in it
// must fit its stack (see webSocket.read).
func (s *socket) Read(p []byte) (int, error) {
	if s.raw == nil {
		return s.Conn.Read(p)
	}
	s.in.buf = p
	if err := s.raw.Read(s.in.try); err != nil {
		return 0, err
	}
	switch {
	case s.in.err != nil:
		return 0, s.in.err
	case s.in.n == 0:
		return 0, io.EOF
	}
	return s.in.n, nil
}

// stalled reports whether something is still kept.
func (s *socket) stalled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy
}

func (s *socket) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return 0, s.failed
	}
	if s.busy {
		if len(s.kept)+len(p) > maxKept {
			s.fail(errKeptTooMuch)
			return 0, s.failed
		}
		s.kept = append(s.kept, p...)
		return len(p), nil
	}
	n := 0
	if s.raw != nil {
		var err error
		if n, err = s.try(p); err != nil {
			s.fail(err)
			return n, err
		}
	}
	if n < len(p) {
		if !s.owner.hub.begin() {
			s.fail(net.ErrClosed)
			return n, s.failed
		}
		s.kept, s.busy = slices.Clone(p[n:]), true
		go s.drain()
	}
	return len(p), nil
}

func (s *socket) try(p []byte) (int, error) {
	a := writes.Get().(*attempt)
	defer writes.Put(a)
	a.buf, a.n, a.err = p, 0, nil
	err := s.raw.Write(a.try)
	a.buf = nil
	if err == nil {
		err = a.err
	}
	if errors.Is(err, syscall.EAGAIN) {
		return 0, nil
	}
	return max(a.n, 0), err
}

// drain writes what is kept until nothing is.
func (s *socket) drain() {
	hub := s.owner.hub
	defer hub.work.Done()
	hub.metrics.stalled.Inc()
	defer hub.metrics.stalled.Dec()
	defer s.owner.wake()
	slowAfter := hub.options.SlowAfter
	deadline := time.Now().Add(slowAfter)
	closing := false
	for {
		s.mu.Lock()
		buf := s.kept
		s.kept = nil
		if len(buf) == 0 || s.failed != nil {
			s.busy = false
			_ = s.Conn.SetWriteDeadline(time.Time{}) // or later tries would fail by it
			if closing {
				s.failed = cmp.Or(s.failed, net.ErrClosed) // a close frame is the last
				s.owner.end()
			}
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		_ = s.Conn.SetWriteDeadline(deadline) // a closed connection says so at the write
		n, err := s.Conn.Write(buf)
		if err == nil {
			continue
		}
		var timeout net.Error
		if closing || !errors.As(err, &timeout) || !timeout.Timeout() {
			s.mu.Lock()
			s.fail(err)
			s.busy = false
			s.mu.Unlock()
			return
		}
		// The frame must be whole before the next, so the close waits behind it.
		closing = true
		deadline = time.Now().Add(slowAfter)
		s.owner.slow()
		s.mu.Lock()
		s.kept = append(slices.Clone(buf[n:]), s.kept...)
		s.kept = append(s.kept, closeFrame(protocol.CloseSlowConsumer, "slow consumer")...)
		s.mu.Unlock()
	}
}

// fail closes the connection; its reader ends. The lock is held.
func (s *socket) fail(err error) {
	if s.failed == nil {
		s.failed = err
		_ = s.Conn.Close() // there is nobody to tell
	}
}

// SetWriteDeadline does nothing: a Write does not wait, and drain sets its own.
func (s *socket) SetWriteDeadline(time.Time) error { return nil }

// closeFrame is an unmasked close frame as RFC 6455 has it.
func closeFrame(code int, reason string) []byte {
	payload := websocket.FormatCloseMessage(code, reason)
	return append([]byte{0x88, byte(len(payload))}, payload...)
}

// hijacker hands the upgrade a socket in place of the connection.
type hijacker struct {
	http.ResponseWriter
	socket *socket
}

func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.socket.Conn = c
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(socketBuffer) // left as it was, it costs memory, not truth
		if raw, err := tcp.SyscallConn(); err == nil {
			h.socket.raw = raw
			h.socket.in.try = h.socket.in.read
		}
	}
	return h.socket, rw, nil
}
