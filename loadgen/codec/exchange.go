package codec

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

// Do writes Buf and returns the status and the body of the response, which must be
// closed.
//
// If the server closed the idle connection, the request is sent again over a new
// one. The increments of a load are idempotent.
func (x *Exchange) Do(ctx context.Context) (status int, response io.ReadCloser, err error) {
	retry := x.used
	for {
		status, err = x.try()
		if err == nil {
			return status, &x.body, nil
		}
		x.release(false)
		if !retry || !closedWhileIdle(err) {
			return 0, nil, err
		}
		retry = false
		if err := x.dial(ctx); err != nil {
			return 0, nil, err
		}
	}
}

// Cut writes Buf and closes the connection without waiting for the response.
func (x *Exchange) Cut() error {
	defer x.release(false)
	if err := x.extend(); err != nil {
		return err
	}
	_, err := x.conn.Write(x.Buf)
	return err
}

// Release returns the connection to the pool without a request.
func (x *Exchange) Release() { x.release(true) }

var errNoResponse = errors.New("the connection was closed without a response")

func closedWhileIdle(err error) bool {
	return errors.Is(err, errNoResponse) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// extend moves the deadline, at most once per deadlineStep.
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
			return 0, errNoResponse
		}
		return 0, fmt.Errorf("read the response: %w", err)
	}
	status, ok := parseStatus(line)
	if !ok {
		return 0, fmt.Errorf("read the response: unexpected status line %.40q", line)
	}
	return status, x.readHeader()
}

// parseStatus parses a line such as "HTTP/1.1 200 OK".
func parseStatus(line []byte) (status int, ok bool) {
	if len(line) < len("HTTP/1.1 200") || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, false
	}
	n, err := strconv.Atoi(string(line[9:12]))
	return n, err == nil && n >= 200 && n < 600
}

// readHeader reads the header and the length of the body from it.
func (x *Exchange) readHeader() error {
	x.body = body{x: x, left: -1, keep: true}
	chunked := false
	for {
		line, err := x.in.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("read the response header: %w", err)
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case equalFold(name, "content-length"):
			if x.body.left, err = strconv.ParseInt(string(value), 10, 64); err != nil || x.body.left < 0 {
				return fmt.Errorf("read the response header: invalid Content-Length %.20q", value)
			}
		case equalFold(name, "transfer-encoding"):
			chunked = equalFold(value, "chunked")
		case equalFold(name, "connection"):
			x.body.keep = !equalFold(value, "close")
		}
	}
	if chunked {
		x.body.chunks = httputil.NewChunkedReader(x.in)
	} else if x.body.left < 0 {
		x.body.keep = false // the body ends with the connection
	}
	return nil
}

// equalFold compares ignoring case.
func equalFold(b []byte, name string) bool {
	return len(b) == len(name) && bytes.EqualFold(b, []byte(name))
}

// body is the body of a response.
type body struct {
	x      *Exchange
	left   int64 // -1 if unknown
	chunks io.Reader
	keep   bool // the connection can be reused
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
			err = b.readTrailer()
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

// readTrailer skips the trailer after the last chunk.
func (b *body) readTrailer() error {
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

// Close implements io.Closer. If the body was not read to its end, the connection
// is closed.
func (b *body) Close() error {
	if !b.closed {
		b.closed = true
		b.x.release(b.keep && (b.ended || b.chunks == nil && b.left == 0))
	}
	return nil
}
