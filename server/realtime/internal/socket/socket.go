package socket

import (
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/scoreboard/scoreboard/server/realtime"
)

// socket is a connection whose write never blocks. What the kernel does not accept
// at once is pending until a goroutine has written it; no further frame is
// written until then, so pending holds one frame and a few control frames. A
// client that does not read it within SlowAfter is closed with 4408, and gets the
// same time again to read up to the close.
type socket struct {
	net.Conn
	raw       syscall.RawConn // nil where only blocking I/O is possible: TLS, Windows
	hub       *realtime.Hub
	done      func(slow bool) // called once nothing is pending
	slowClose []byte          // the last bytes for a slow client

	read   func(fd uintptr) bool // tryRead, allocated once
	buffer *[]byte               // that read filled, from the pool
	n      int
	err    error

	mu      sync.Mutex
	pending []byte
	busy    bool // a goroutine is writing pending
	failed  error
}

const (
	// maxPending bounds the control frames behind a stalled frame.
	maxPending = 4 << 10
	// writeBuffer is the kernel's buffer for each connection: three of the
	// largest frames. By default it grows to megabytes, and a client that
	// stopped reading is noticed only when those are full.
	writeBuffer = 32 << 10
	// readBuffer is lent to a connection while it has bytes to read.
	readBuffer = 4 << 10
)

var errPendingFull = errors.New("too many control frames for a stalled client")

// buffers are of readBuffer bytes.
var buffers = sync.Pool{New: func() any { b := make([]byte, readBuffer); return &b }}

func (s *socket) init(c net.Conn, h *realtime.Hub, slowClose []byte, done func(slow bool)) {
	s.Conn, s.hub, s.slowClose, s.done = c, h, slowClose, done
	tcp, ok := c.(*net.TCPConn)
	if !ok || !nonBlocking {
		return
	}
	_ = tcp.SetWriteBuffer(writeBuffer) // an error costs memory only
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	s.raw, s.read = raw, s.tryRead
	if runtime.GOOS == "linux" {
		// Drops a client that vanished and acknowledges nothing.
		ms := int(h.Options().PongWait.Milliseconds())
		_ = raw.Control(func(fd uintptr) { setUserTimeout(fd, ms) })
	}
}

// receive waits for bytes and calls handle with them. While it waits it holds no
// buffer, and so little stack that the goroutine keeps the smallest size.
func (s *socket) receive(handle func([]byte) bool) (bool, error) {
	if s.raw == nil {
		s.buffer = buffers.Get().(*[]byte)
		s.n, s.err = s.Conn.Read(*s.buffer)
	} else if err := s.raw.Read(s.read); err != nil {
		return false, err
	}
	more, err := true, s.err
	if s.n > 0 {
		more = handle((*s.buffer)[:s.n])
	} else if err == nil {
		err = io.EOF
	}
	buffers.Put(s.buffer)
	s.buffer = nil
	return more, err
}

// tryRead calls read(2) once; false makes the caller wait until bytes arrive.
func (s *socket) tryRead(fd uintptr) bool {
	s.buffer = buffers.Get().(*[]byte)
	for {
		s.n, s.err = readOnce(fd, *s.buffer)
		if !errors.Is(s.err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(s.err, syscall.EAGAIN) {
		buffers.Put(s.buffer)
		return false
	}
	return true
}

// attempt is one write(2): its arguments and results. Its func is allocated once,
// so that a call allocates nothing.
type attempt struct {
	buf []byte
	n   int
	err error
	try func(fd uintptr) bool
}

var attempts = sync.Pool{New: newAttempt}

func newAttempt() any {
	a := &attempt{}
	a.try = func(fd uintptr) bool {
		for {
			if a.n, a.err = writeOnce(fd, a.buf); !errors.Is(a.err, syscall.EINTR) {
				return true // do not wait
			}
		}
	}
	return a
}

// stalled reports whether bytes are pending.
func (s *socket) stalled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy
}

// write writes a whole frame; what the kernel does not accept becomes pending.
// After an error the connection is closed, and its reader ends.
func (s *socket) write(p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	if s.busy {
		if len(s.pending)+len(p) > maxPending {
			return s.fail(errPendingFull)
		}
		s.pending = append(s.pending, p...)
		return nil
	}
	n := 0
	if s.raw != nil {
		var err error
		if n, err = s.attempt(p); err != nil {
			return s.fail(err)
		}
	}
	if n < len(p) {
		if !s.hub.Begin() {
			return s.fail(net.ErrClosed)
		}
		s.pending, s.busy = slices.Clone(p[n:]), true
		go s.drain()
	}
	return nil
}

func (s *socket) attempt(p []byte) (int, error) {
	a := attempts.Get().(*attempt)
	defer attempts.Put(a)
	a.buf, a.n, a.err = p, 0, nil
	err := s.raw.Write(a.try)
	a.buf = nil
	switch {
	case err != nil:
		return 0, err
	case errors.Is(a.err, syscall.EAGAIN):
		return 0, nil
	}
	return max(a.n, 0), a.err
}

// writeLast writes the last bytes, if any, and ends the stream behind them.
func (s *socket) writeLast(p []byte) {
	if len(p) > 0 && s.write(p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = net.ErrClosed
		s.closeWrite()
	}
}

// closeWrite ends the stream once everything is written. The connection is closed
// when the client closes too, or after closeWait.
func (s *socket) closeWrite() {
	if c, ok := s.Conn.(interface{ CloseWrite() error }); ok && !s.busy {
		_ = c.CloseWrite() // fails only on a closed connection
	}
}

// drain writes until nothing is pending.
func (s *socket) drain() {
	defer s.hub.Done()
	s.hub.AddStalled(1)
	defer s.hub.AddStalled(-1)
	slowAfter := s.hub.Options().SlowAfter
	deadline := time.Now().Add(slowAfter)
	slow := false
	for {
		buf := s.takePending(slow)
		if buf == nil {
			s.done(slow)
			return
		}
		_ = s.SetWriteDeadline(deadline) // on a closed connection the write fails
		n, err := s.Conn.Write(buf)
		if err == nil {
			continue
		}
		var timeout net.Error
		if slow || !errors.As(err, &timeout) || !timeout.Timeout() {
			s.done(slow)
			s.mu.Lock()
			_ = s.fail(err)
			s.busy = false
			s.mu.Unlock()
			return
		}
		// The frame must be completed before the close follows it.
		slow = true
		deadline = time.Now().Add(slowAfter)
		s.mu.Lock()
		s.pending = append(slices.Clone(buf[n:]), s.pending...)
		s.pending = append(s.pending, s.slowClose...)
		s.mu.Unlock()
	}
}

// takePending takes the pending bytes; nil ends the stall.
func (s *socket) takePending(slow bool) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	buf := s.pending
	s.pending = nil
	if len(buf) > 0 {
		return buf
	}
	s.busy = false
	_ = s.SetWriteDeadline(time.Time{}) // or it would fail later writes
	if slow && s.failed == nil {
		s.failed = net.ErrClosed // slowClose was the last
	}
	if s.failed != nil {
		s.closeWrite()
	}
	return nil
}

// fail closes the connection. The lock is held.
func (s *socket) fail(err error) error {
	if s.failed == nil {
		s.failed = err
		_ = s.Close() // failed has the cause
	}
	return s.failed
}
