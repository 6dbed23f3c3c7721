package codec

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

// Limits of a connection.
const (
	buffer = 4 << 10
	// maxIdle is how long an idle connection is reused: less than a server keeps it.
	maxIdle = 30 * time.Second
	// deadlineStep is how often a deadline is moved. Moving it for each request would
	// cost as much as signing.
	deadlineStep = time.Second
)

// Conns is a pool of connections to one server. The most recently used connection
// is reused first, so that a small load keeps few of them.
type Conns struct {
	addr    string
	secure  *tls.Config // nil for http
	timeout time.Duration

	mu     sync.Mutex
	idle   []*Exchange
	closed bool
}

// NewConns returns a pool of connections to the host of base. An exchange may take up
// to a second longer than timeout.
func NewConns(base *url.URL, timeout time.Duration) (*Conns, error) {
	port, secure := "80", (*tls.Config)(nil)
	switch base.Scheme {
	case "http":
	case "https":
		port, secure = "443", &tls.Config{ServerName: base.Hostname(), MinVersion: tls.VersionTLS12}
	default:
		return nil, fmt.Errorf("the server's address must start with http:// or https://, not %q", base.String())
	}
	if base.Port() != "" {
		port = base.Port()
	}
	return &Conns{addr: net.JoinHostPort(base.Hostname(), port), secure: secure, timeout: timeout}, nil
}

// Exchange is a request and its response on a connection. Buf holds the request;
// its memory is reused.
type Exchange struct {
	Buf   []byte
	conns *Conns
	conn  net.Conn
	in    *bufio.Reader
	used  bool // for an earlier exchange
	until time.Time
	last  time.Time
	body  body
}

// Get returns an idle connection or dials one. Closing the response returns it to
// the pool.
func (c *Conns) Get(ctx context.Context) (*Exchange, error) {
	if x := c.takeIdle(time.Now()); x != nil {
		return x, nil
	}
	x := &Exchange{conns: c, in: bufio.NewReaderSize(nil, buffer)}
	return x, x.dial(ctx)
}

func (c *Conns) takeIdle(now time.Time) *Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.idle)
	if n == 0 {
		return nil
	}
	x := c.idle[n-1]
	c.idle = c.idle[:n-1]
	if now.Sub(x.last) < maxIdle {
		return x
	}
	// The others have been idle even longer.
	for _, old := range append(c.idle, x) {
		_ = old.conn.Close()
	}
	c.idle = nil
	return nil
}

// Close closes idle connections, and busy ones when they become idle.
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

// release returns the connection to the pool, or closes it.
func (x *Exchange) release(keep bool) {
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
