package realtime

import (
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// socket is a connection whose write never waits. What the kernel does not take
// at once is kept and written by a goroutine that lives until it is gone; until
// then the hub writes no further frame, so what is kept is one frame and a few
// control frames. A client who does not take it within SlowAfter is closed with
// 4408, and gets the same time again to read so far.
type socket struct {
	net.Conn
	raw     syscall.RawConn // nil where nothing can be tried, as under TLS and on Windows
	hub     *Hub
	done    func(slow bool) // told when the kept is gone
	goodbye []byte          // what a slow client is told

	try func(fd uintptr) bool // read, made once
	in  *[]byte               // what try read to, from the hub's buffers
	n   int
	err error

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
	// readBuffer is lent to a connection while bytes are there to be read.
	readBuffer = 4 << 10
)

var errKeptTooMuch = errors.New("too many control frames for a stalled client")

func (s *socket) init(c net.Conn, h *Hub, goodbye []byte, done func(slow bool)) {
	s.Conn, s.hub, s.goodbye, s.done = c, h, goodbye, done
	tcp, ok := c.(*net.TCPConn)
	if !ok || !canTry {
		return
	}
	_ = tcp.SetWriteBuffer(socketBuffer) // left as it was, it costs memory, not truth
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	s.raw, s.try = raw, s.tryRead
	if runtime.GOOS == "linux" {
		// A client that is gone without a word acknowledges nothing.
		ms := int(h.options.Load().PongWait.Milliseconds())
		_ = raw.Control(func(fd uintptr) { setUserTimeout(fd, ms) })
	}
}

// receive waits for bytes and gives them to take. While it waits it holds no
// buffer, and so little of the stack that the goroutine stays at the smallest.
func (s *socket) receive(take func([]byte) bool) (bool, error) {
	if s.raw == nil {
		s.in = s.hub.buffers.Get().(*[]byte)
		s.n, s.err = s.Conn.Read(*s.in)
	} else if err := s.raw.Read(s.try); err != nil {
		return false, err
	}
	more, err := true, s.err
	if s.n > 0 {
		more = take((*s.in)[:s.n])
	} else if err == nil {
		err = io.EOF
	}
	s.hub.buffers.Put(s.in)
	s.in = nil
	return more, err
}

// tryRead is one read(2); without bytes the caller waits for some.
func (s *socket) tryRead(fd uintptr) bool {
	s.in = s.hub.buffers.Get().(*[]byte)
	for {
		s.n, s.err = readOnce(fd, *s.in)
		if !errors.Is(s.err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(s.err, syscall.EAGAIN) {
		s.hub.buffers.Put(s.in)
		return false
	}
	return true
}

// attempt is one write(2), with what it was called with and returned. Its func
// is made once, so that a call allocates nothing.
type attempt struct {
	buf []byte
	n   int
	err error
	try func(fd uintptr) bool
}

func newAttempt() any {
	a := &attempt{}
	a.try = func(fd uintptr) bool {
		for {
			if a.n, a.err = writeOnce(fd, a.buf); !errors.Is(a.err, syscall.EINTR) {
				return true // never wait
			}
		}
	}
	return a
}

// stalled reports whether something is still kept.
func (s *socket) stalled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy
}

// write writes a whole frame, or keeps what the kernel does not take. An error
// has closed the connection, and its reader ends.
func (s *socket) write(p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	if s.busy {
		if len(s.kept)+len(p) > maxKept {
			return s.fail(errKeptTooMuch)
		}
		s.kept = append(s.kept, p...)
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
		if !s.hub.begin() {
			return s.fail(net.ErrClosed)
		}
		s.kept, s.busy = slices.Clone(p[n:]), true
		go s.drain()
	}
	return nil
}

func (s *socket) attempt(p []byte) (int, error) {
	a := s.hub.attempts.Get().(*attempt)
	defer s.hub.attempts.Put(a)
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

// last writes a frame after which nothing may follow.
func (s *socket) last(p []byte) {
	if s.write(p) == nil {
		s.end()
	}
}

// end lets nothing follow what was written, and tells the client so.
func (s *socket) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = net.ErrClosed
		s.closeWrite()
	}
}

// closeWrite sends the end of the stream when all before it is written. The
// connection is closed once the client has closed too, or has had its time.
func (s *socket) closeWrite() {
	if c, ok := s.Conn.(interface{ CloseWrite() error }); ok && !s.busy {
		_ = c.CloseWrite() // a closed connection needs no end
	}
}

// drain writes what is kept until nothing is.
func (s *socket) drain() {
	defer s.hub.work.Done()
	s.hub.metrics.stalled.Inc()
	defer s.hub.metrics.stalled.Dec()
	slowAfter := s.hub.options.Load().SlowAfter
	deadline := time.Now().Add(slowAfter)
	slow := false
	for {
		buf := s.takeKept(slow)
		if buf == nil {
			s.done(slow)
			return
		}
		_ = s.SetWriteDeadline(deadline) // a closed connection says so at the write
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
		// The frame must be whole before the next, so the close waits behind it.
		slow = true
		deadline = time.Now().Add(slowAfter)
		s.mu.Lock()
		s.kept = append(slices.Clone(buf[n:]), s.kept...)
		s.kept = append(s.kept, s.goodbye...)
		s.mu.Unlock()
	}
}

// takeKept takes what is to be written, or ends the stall.
func (s *socket) takeKept(slow bool) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	buf := s.kept
	s.kept = nil
	if len(buf) > 0 {
		return buf
	}
	s.busy = false
	_ = s.SetWriteDeadline(time.Time{}) // or later tries would fail by it
	if slow && s.failed == nil {
		s.failed = net.ErrClosed // the goodbye was the last
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
		_ = s.Close() // there is nobody to tell
	}
	return s.failed
}
