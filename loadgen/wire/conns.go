package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"
)

// The bounds of a connection.
const (
	buffer = 4 << 10
	// idleFor is how long a connection may rest and still be used: less than any
	// server keeps one.
	idleFor = 30 * time.Second
	// Deadlines are set anew after so long only, for setting one costs as much
	// as signing does.
	deadlineStep = time.Second
)

// Conns keeps connections to one server. The last one used is used first, so
// that a load that needs few keeps few.
type Conns struct {
	addr    string
	secure  *tls.Config // nil where the scheme is http
	timeout time.Duration

	mu     sync.Mutex
	idle   []*Exchange
	closed bool
}

// New makes connections to the host of base when they are needed. An exchange
// may take timeout, and up to a second more.
func New(base *url.URL, timeout time.Duration) (*Conns, error) {
	port, secure := "80", (*tls.Config)(nil)
	switch base.Scheme {
	case "http":
	case "https":
		port, secure = "443", &tls.Config{ServerName: base.Hostname(), MinVersion: tls.VersionTLS12}
	default:
		return nil, fmt.Errorf("the server's address must begin with http:// or https://, not %q", base.String())
	}
	if base.Port() != "" {
		port = base.Port()
	}
	return &Conns{addr: net.JoinHostPort(base.Hostname(), port), secure: secure, timeout: timeout}, nil
}

// Exchange is one request and its answer on a connection. Buf is room for the
// request that its last user made, to be used again.
type Exchange struct {
	Buf   []byte
	conns *Conns
	conn  net.Conn
	in    *bufio.Reader
	used  bool // it has carried an exchange before
	until time.Time
	last  time.Time
	body  body
}

// Get takes a connection, or makes one. Its answer's Close gives it back.
func (c *Conns) Get(ctx context.Context) (*Exchange, error) {
	if x := c.rested(time.Now()); x != nil {
		return x, nil
	}
	x := &Exchange{conns: c, in: bufio.NewReaderSize(nil, buffer)}
	return x, x.dial(ctx)
}

func (c *Conns) rested(now time.Time) *Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.idle)
	if n == 0 {
		return nil
	}
	x := c.idle[n-1]
	c.idle = c.idle[:n-1]
	if now.Sub(x.last) < idleFor {
		return x
	}
	// Those below have rested longer.
	for _, old := range append(c.idle, x) {
		_ = old.conn.Close()
	}
	c.idle = nil
	return nil
}

// Close closes what rests now and what comes to rest later.
func (c *Conns) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.idle {
		_ = x.conn.Close()
	}
	c.idle, c.closed = nil, true
}

func (x *Exchange) dial(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, x.conns.timeout)
	defer cancel()
	var err error
	d := &net.Dialer{}
	if x.conns.secure != nil {
		x.conn, err = (&tls.Dialer{NetDialer: d, Config: x.conns.secure}).DialContext(ctx, "tcp", x.conns.addr)
	} else {
		x.conn, err = d.DialContext(ctx, "tcp", x.conns.addr)
	}
	if err != nil {
		return err
	}
	x.in.Reset(x.conn)
	x.used, x.until = false, time.Time{}
	return nil
}

// rest gives the connection back, or closes it.
func (x *Exchange) rest(keep bool) {
	if keep {
		x.used, x.last = true, time.Now()
		c := x.conns
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.closed {
			c.idle = append(c.idle, x)
			return
		}
	}
	_ = x.conn.Close()
}
