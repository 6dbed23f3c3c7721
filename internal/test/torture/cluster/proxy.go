package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Fault is what a proxy does to the traffic that passes it. The zero value
// passes everything.
type Fault struct {
	Refuse bool // accept and close new connections at once
	Stall  bool // keep connections open and forward nothing
	// Swallow forwards requests and drops their answers: the server has done what the client
	// does not know of. Reset the connections before it ends.
	Swallow bool
	Delay   time.Duration // before each forwarded chunk, in both directions
	// CutAtCommit cuts a PostgreSQL connection when the server reports a COMMIT:
	// the transaction is committed, and the client never learns it.
	CutAtCommit bool
	// CutAfter cuts a PostgreSQL connection after that many messages of a client
	// have been forwarded; 0 never.
	CutAfter int
	// OnCut is called, in a goroutine of its own, when a connection is cut; may be nil.
	OnCut func()
}

// Proxy forwards connections from Addr to a target.
type Proxy struct {
	listener net.Listener
	target   string

	mu      sync.Mutex
	rename  func([]byte) []byte // of what the server says; nil: as it is
	fault   Fault
	changed chan struct{} // closed when the fault changes
	conns   map[*link]bool
	closed  bool
	all     sync.WaitGroup
}

// link is one proxied connection.
type link struct{ client, server net.Conn }

func (l *link) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// reset closes both sides with an RST, as a crashed host or a firewall would.
func (l *link) reset() {
	for _, c := range []net.Conn{l.client, l.server} {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	}
	l.close()
}

// Listen starts a proxy on a free port of 127.0.0.1. The target may be set
// later, before the first connection.
func Listen(ctx context.Context, target string) (*Proxy, error) {
	return listenOn(ctx, "127.0.0.1", target)
}

func listenOn(ctx context.Context, host, target string) (*Proxy, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen for a proxy: %w", err)
	}
	p := &Proxy{listener: l, target: target, changed: make(chan struct{}), conns: make(map[*link]bool)}
	p.all.Go(p.accept)
	return p, nil
}

// Addr is the proxy's host and port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// SetTarget names the host and port to forward to.
func (p *Proxy) SetTarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Set replaces the fault.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
	close(p.changed)
	p.changed = make(chan struct{})
}

// Reset cuts every open connection with an RST.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.conns {
		l.reset()
	}
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.fault = Fault{}
	close(p.changed)
	p.changed = make(chan struct{})
	for l := range p.conns {
		l.close()
	}
	p.mu.Unlock()
	p.all.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		fault, target, closed := p.fault, p.target, p.closed
		p.mu.Unlock()
		if fault.Refuse || closed {
			_ = client.Close()
			continue
		}
		dialer := net.Dialer{Timeout: 2 * time.Second}
		server, err := dialer.DialContext(context.Background(), "tcp", target)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &link{client, server}
		p.mu.Lock()
		p.conns[l] = true
		p.mu.Unlock()
		p.all.Go(func() { p.forward(l) })
	}
}

// forward copies both ways until one side ends.
func (p *Proxy) forward(l *link) {
	var both sync.WaitGroup
	both.Go(func() { p.copy(l, l.server, l.client, &messages{first: true}, true) })
	both.Go(func() { p.copy(l, l.client, l.server, &messages{}, false) })
	both.Wait()
	p.mu.Lock()
	delete(p.conns, l)
	p.mu.Unlock()
}

var errCut = errors.New("cut by the proxy")

func (p *Proxy) copy(l *link, to io.Writer, from io.Reader, m *messages, request bool) {
	defer l.close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && p.pass(l, to, buffer[:n], m, request) != nil {
			l.reset()
			return
		}
		if err != nil {
			return
		}
	}
}

// pass forwards a chunk under the fault in force.
func (p *Proxy) pass(l *link, to io.Writer, chunk []byte, m *messages, request bool) error {
	for {
		p.mu.Lock()
		fault, changed, closed, rename := p.fault, p.changed, p.closed, p.rename
		p.mu.Unlock()
		if closed {
			return errCut
		}
		if !fault.Stall {
			if rename != nil && !request {
				chunk = rename(chunk)
			}
			if fault.Delay > 0 {
				time.Sleep(fault.Delay)
			}
			if fault.CutAtCommit || fault.CutAfter > 0 {
				err := cut(to, chunk, m, request, fault)
				if errors.Is(err, errCut) && fault.OnCut != nil {
					go fault.OnCut()
				}
				return err
			}
			m.skip(chunk)
			if fault.Swallow && !request {
				return nil
			}
			_, err := to.Write(chunk)
			return err
		}
		<-changed
	}
}

// cut forwards the messages of a chunk up to the one to cut at.
func cut(to io.Writer, chunk []byte, m *messages, request bool, f Fault) error {
	done := 0
	for {
		end, kind, body, ok := m.next(chunk, done)
		if !ok {
			break
		}
		if !request && f.CutAtCommit && kind == 'C' && string(body) == "COMMIT\x00" {
			return errCut
		}
		done = end
		if request && f.CutAfter > 0 && m.count >= f.CutAfter {
			_, _ = to.Write(chunk[:done])
			return errCut
		}
	}
	_, err := to.Write(chunk)
	return err
}
