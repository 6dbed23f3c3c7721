package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"strconv"
	"syscall"
	"time"
)

// Do writes Buf and returns the answer's status and body, which must be closed.
//
// A connection that a server closed while it rested shows only now. Then the
// request goes out once more over a new one: what a load sends counts once
// however often it is sent.
func (x *Exchange) Do(ctx context.Context) (status int, answer io.ReadCloser, err error) {
	again := x.used
	for {
		status, err = x.try()
		if err == nil {
			return status, &x.body, nil
		}
		x.rest(false)
		if !again || !closedAtRest(err) {
			return 0, nil, err
		}
		again = false
		if err := x.dial(ctx); err != nil {
			return 0, nil, err
		}
	}
}

// Cut writes Buf and closes the connection without waiting for the answer.
func (x *Exchange) Cut() error {
	defer x.rest(false)
	if err := x.extend(); err != nil {
		return err
	}
	_, err := x.conn.Write(x.Buf)
	return err
}

// Rest gives the connection back without a request.
func (x *Exchange) Rest() { x.rest(true) }

var errNothing = errors.New("the connection ended before an answer")

func closedAtRest(err error) bool {
	return errors.Is(err, errNothing) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// extend moves the deadline once in a while.
func (x *Exchange) extend() error {
	if now := time.Now(); x.until.Sub(now) < x.conns.timeout {
		x.until = now.Add(x.conns.timeout + deadlineStep)
		return x.conn.SetDeadline(x.until)
	}
	return nil
}

func (x *Exchange) try() (status int, err error) {
	if err := x.extend(); err != nil {
		return 0, err
	}
	if _, err := x.conn.Write(x.Buf); err != nil {
		return 0, err
	}
	line, err := x.in.ReadSlice('\n')
	if err != nil {
		if len(line) == 0 && errors.Is(err, io.EOF) {
			return 0, errNothing
		}
		return 0, fmt.Errorf("read the answer: %w", err)
	}
	status, known := statusOf(line)
	if !known {
		return 0, fmt.Errorf("read the answer: it begins with %.40q", line)
	}
	return status, x.head()
}

// statusOf reads a line such as "HTTP/1.1 200 OK".
func statusOf(line []byte) (status int, known bool) {
	if len(line) < len("HTTP/1.1 200") || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, false
	}
	n, err := strconv.Atoi(string(line[9:12]))
	return n, err == nil && n >= 200 && n < 600
}

// head reads the headers that say how long the body is.
func (x *Exchange) head() error {
	x.body = body{x: x, left: -1, keep: true}
	chunked := false
	for {
		line, err := x.in.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("read the answer's headers: %w", err)
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case is(name, "content-length"):
			if x.body.left, err = strconv.ParseInt(string(value), 10, 64); err != nil || x.body.left < 0 {
				return fmt.Errorf("read the answer's headers: a length of %.20q", value)
			}
		case is(name, "transfer-encoding"):
			chunked = is(value, "chunked")
		case is(name, "connection"):
			x.body.keep = !is(value, "close")
		}
	}
	if chunked {
		x.body.chunks = httputil.NewChunkedReader(x.in)
	} else if x.body.left < 0 {
		x.body.keep = false // it ends with the connection
	}
	return nil
}

// is compares without regard to case. name is in lower case.
func is(b []byte, name string) bool {
	return len(b) == len(name) && bytes.EqualFold(b, []byte(name))
}

// body is the answer's body.
type body struct {
	x      *Exchange
	left   int64 // -1 where it is not known
	chunks io.Reader
	keep   bool // the connection may carry more
	ended  bool
	closed bool
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (n int, err error) {
	switch {
	case b.ended:
		return 0, io.EOF
	case b.chunks != nil:
		n, err = b.chunks.Read(p)
		if errors.Is(err, io.EOF) {
			err = b.trailer()
		}
	case b.left == 0:
		err = io.EOF
	default:
		if b.left > 0 && int64(len(p)) > b.left {
			p = p[:b.left]
		}
		n, err = b.x.in.Read(p)
		if b.left > 0 {
			b.left -= int64(n)
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
		}
	}
	b.ended = b.ended || errors.Is(err, io.EOF)
	if err != nil && !b.ended {
		b.keep = false
	}
	return n, err
}

// trailer moves over what follows the last chunk: nothing but an empty line.
func (b *body) trailer() error {
	for {
		line, err := b.x.in.ReadSlice('\n')
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			return io.EOF
		}
	}
}

// Close implements io.Closer. A body that was not read to its end takes the
// connection with it.
func (b *body) Close() error {
	if !b.closed {
		b.closed = true
		b.x.rest(b.keep && (b.ended || b.chunks == nil && b.left == 0))
	}
	return nil
}
