package store_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// proxy is a proxy between a store and PostgreSQL. It parses enough of the protocol
// to identify statements, and onMessage decides which connections it cuts.
type proxy struct {
	t        testing.TB
	listener net.Listener
	target   string
	url      string // of the database behind the proxy

	mu        sync.Mutex
	onMessage func(message) effect // nil forwards everything
	open      map[net.Conn]bool
	ended     bool
	all       sync.WaitGroup
}

// message is one message of the protocol.
type message struct {
	answer    bool   // from the server
	kind      byte   // of the protocol
	statement string // of Parse, Execute or Query, trimmed
	commit    bool   // the message that commits, or the answer to it
	backend   uint32 // process id of the backend
}

// effect is what happens to a message. It is forwarded if neither field is set.
type effect struct {
	cut  bool             // drop this message and close both sides
	late <-chan time.Time // close the client's side now, forward the message after this
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, listener: l, target: u.Host, open: make(map[net.Conn]bool)}
	u.Host = l.Addr().String()
	u.RawQuery = "sslmode=disable"
	p.url = u.String()
	p.all.Go(p.accept)
	t.Cleanup(p.end)
	return p
}

// watch sets the function that decides about messages from now on.
func (p *proxy) watch(onMessage func(message) effect) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onMessage = onMessage
}

func (p *proxy) end() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.ended = true
	for c := range p.open {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.all.Wait()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(p.t.Context(), "tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		c := &proxied{proxy: p, client: client, server: server, prepared: make(map[string]string)}
		if !p.keep(client) || !p.keep(server) {
			return
		}
		p.all.Go(c.toServer)
		p.all.Go(c.toClient)
	}
}

// keep registers an open connection, so that it is closed with the proxy.
func (p *proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		_ = c.Close()
		return false
	}
	p.open[c] = true
	return true
}

func (p *proxy) drop(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(p.open, c)
	}
}

// effect calls onMessage for one message at a time, so it may count.
func (p *proxy) effect(m message) effect {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.onMessage == nil {
		return effect{}
	}
	return p.onMessage(m)
}

// proxied is one connection through the proxy.
type proxied struct {
	proxy          *proxy
	client, server net.Conn

	mu      sync.Mutex
	backend uint32

	adding   bool              // a transaction without a begin, which Sync commits
	prepared map[string]string // statement name → SQL; only toServer uses these
	bound    string
}

// commits reports whether a message of the client commits.
func (c *proxied) commits(kind byte, statement string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch kind {
	case 'E':
		c.adding = strings.Contains(statement, "add_increments")
		return strings.EqualFold(statement, "commit")
	case 'S':
		return c.adding
	}
	return false
}

// committed reports whether a message of the server answers a commit.
func (c *proxied) committed(kind byte, body []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch kind {
	case 'C':
		tag, _, _ := cutZero(body)
		return tag == "COMMIT"
	case 'Z':
		adding := c.adding
		c.adding = false
		return adding
	}
	return false
}

// toServer forwards what the client sends.
func (c *proxied) toServer() {
	defer c.proxy.drop(c.client, c.server)
	in, out := bufio.NewReader(c.client), bufio.NewWriter(c.server)
	if c.startup(in, out) != nil {
		return
	}
	for {
		kind, body, err := readMessage(in)
		if err != nil {
			_ = out.Flush()
			return
		}
		m := message{kind: kind, statement: c.statement(kind, body), backend: c.pid()}
		if m.commit = c.commits(kind, m.statement); m.commit && out.Flush() != nil {
			return // onMessage may wait for what comes before a commit
		}
		v := c.proxy.effect(m)
		switch {
		case v.cut:
			_ = out.Flush()
			return
		case v.late != nil:
			_ = out.Flush()
			c.proxy.drop(c.client)
			<-v.late
			if errors.Join(
				writeMessage(out, kind, body),
				writeMessage(out, 'S', nil),
				writeMessage(out, 'X', nil),
				out.Flush(),
			) == nil {
				_, _ = io.Copy(io.Discard, c.server) // until the server has finished
			}
			return
		}
		if writeMessage(out, kind, body) != nil {
			return
		}
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}

// toClient forwards what the server sends.
func (c *proxied) toClient() {
	in, out := bufio.NewReader(c.server), bufio.NewWriter(c.client)
	for {
		kind, body, err := readMessage(in)
		if err != nil {
			_ = out.Flush()
			c.proxy.drop(c.client)
			return
		}
		m := message{answer: true, kind: kind, commit: c.committed(kind, body)}
		if kind == 'K' {
			c.mu.Lock()
			c.backend = binary.BigEndian.Uint32(body)
			c.mu.Unlock()
		}
		m.backend = c.pid()
		if c.proxy.effect(m).cut {
			_ = out.Flush()
			c.proxy.drop(c.client, c.server)
			return
		}
		if writeMessage(out, kind, body) != nil || in.Buffered() == 0 && out.Flush() != nil {
			// The client is gone, but its messages may still be on the way to the
			// server: toServer decides when that side ends.
			return
		}
	}
}

func (c *proxied) pid() uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.backend
}

// cancelRequest replaces the version in the first message of a connection that
// requests the cancellation of another one.
const cancelRequest = 80877102

// startup forwards the first message, which has no kind. Cancel requests are
// dropped: one that overtook a delayed message would cancel it or not at random.
func (c *proxied) startup(in *bufio.Reader, out *bufio.Writer) error {
	var size [4]byte
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return err
	}
	rest := make([]byte, binary.BigEndian.Uint32(size[:])-4)
	if _, err := io.ReadFull(in, rest); err != nil {
		return err
	}
	if binary.BigEndian.Uint32(rest) == cancelRequest {
		return errors.New("cancel request dropped")
	}
	_, err := out.Write(slices.Concat(size[:], rest))
	return errors.Join(err, out.Flush())
}

// statement returns the SQL of a client's message.
func (c *proxied) statement(kind byte, body []byte) string {
	switch kind {
	case 'P':
		name, rest, _ := cutZero(body)
		sql, _, _ := cutZero(rest)
		c.prepared[name] = sql
		return sql
	case 'B':
		_, rest, _ := cutZero(body)
		name, _, _ := cutZero(rest)
		c.bound = c.prepared[name]
	case 'E':
		return c.bound
	case 'Q':
		sql, _, _ := cutZero(body)
		return sql
	}
	return ""
}

func cutZero(b []byte) (string, []byte, bool) {
	before, after, ok := bytes.Cut(b, []byte{0})
	return string(before), after, ok
}

func readMessage(r *bufio.Reader) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	body = make([]byte, binary.BigEndian.Uint32(head[1:])-4)
	_, err = io.ReadFull(r, body)
	return head[0], body, err
}

func writeMessage(w *bufio.Writer, kind byte, body []byte) error {
	var head [5]byte
	head[0] = kind
	binary.BigEndian.PutUint32(head[1:], uint32(len(body))+4)
	_, err := w.Write(head[:])
	_, err2 := w.Write(body)
	return errors.Join(err, err2)
}
