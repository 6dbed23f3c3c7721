// Package memnet has a listener within the process. Tests in a testing/synctest bubble
// use it, because a goroutine that waits for a real network keeps a bubble's clock from
// moving. With that clock, no duration depends on how busy the machine is.
package memnet

import (
	"context"
	"net"
	"sync"
)

// Listener accepts the connections of its Dial. Their writes wait for the reader:
// there is no buffer.
type Listener struct {
	conns chan net.Conn
	close func()
	done  chan struct{}
}

// Listen returns an open listener.
func Listen() *Listener {
	l := &Listener{conns: make(chan net.Conn), done: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.done) })
	return l
}

// Dial connects to the listener, with any network and address. The error is
// net.ErrClosed after Close.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept returns the next connection, or net.ErrClosed after Close.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and Dial; accepted connections stay open.
func (l *Listener) Close() error {
	l.close()
	return nil
}

// Addr is an address for URLs; nothing listens there.
func (l *Listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
