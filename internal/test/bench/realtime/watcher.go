package realtime

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// watcher is one client.
type watcher struct {
	pool *clientPool
	id   int
	buf  []byte

	free    func() // allows another dial
	counted bool   // as an open connection
	version int64  // of the last frame
	ts      time.Time
}

// perAddress is the number of connections of one source address, well below its
// number of ports.
const perAddress = 10_000

// dial opens a TCP connection from the watcher's address in 127.0.0.0/8.
func (w *watcher) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: 20 * time.Second}
	if strings.HasPrefix(addr, "127.") {
		d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+w.id/perAddress))}
	}
	c, err := d.DialContext(ctx, network, addr)
	if err == nil && w.pool.stall {
		err = c.(*net.TCPConn).SetReadBuffer(4 << 10)
	}
	return c, err
}

// watch connects, reads until the connection ends, and returns why it did.
func (w *watcher) watch(ctx context.Context) error {
	w.version = 0
	if w.pool.kind == "sse" {
		return w.listen(ctx)
	}
	d := websocket.Dialer{
		NetDialContext:   w.dial,
		HandshakeTimeout: 20 * time.Second,
		ReadBufferSize:   1024,
		WriteBufferPool:  &w.pool.buffers,
	}
	url := "ws" + strings.TrimPrefix(w.pool.target(w.id), "http")
	ws, _, err := d.DialContext(ctx, url, w.pool.header) //nolint:bodyclose // a handshake has no body to close
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer func() { _ = ws.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = ws.Close() })
	defer stop()
	if w.pool.stall {
		w.pool.opened(w)
		select { // until the server has closed the connection
		case <-ctx.Done():
		case <-time.After(25 * time.Second):
		}
		return nil
	}
	for first := true; ; first = false {
		_, r, err := ws.NextReader()
		if err != nil {
			return err
		}
		n, err := w.fill(r)
		if err != nil {
			return err
		}
		w.pool.read(w, w.buf[:n], time.Now())
		if first {
			w.pool.opened(w)
		}
	}
}

// fill reads a message into the watcher's buffer.
func (w *watcher) fill(r io.Reader) (int, error) {
	n := 0
	for {
		if n == len(w.buf) {
			w.buf = append(w.buf, make([]byte, max(1024, n))...)
		}
		m, err := r.Read(w.buf[n:])
		n += m
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// listen is watch for server-sent events.
func (w *watcher) listen(ctx context.Context) error {
	target := w.pool.target(w.id)
	host := strings.TrimPrefix(target[:len(target)-len(path)-len(w.pool.query(w.id))], "http://")
	c, err := w.dial(ctx, "tcp", host)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer func() { _ = c.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	req.Header = w.pool.header.Clone()
	req.Header.Set("Accept", "text/event-stream")
	if err := req.Write(c); err != nil {
		return fmt.Errorf("send the request: %w", err)
	}
	in := bufio.NewReaderSize(c, 2048)
	res, err := http.ReadResponse(in, req)
	if err != nil {
		return fmt.Errorf("read the response: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("unexpected status %s", res.Status)
	}
	first := true
	lines := bufio.NewReaderSize(res.Body, 16<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(line, []byte("data: ")) {
			continue
		}
		w.pool.read(w, line, time.Now())
		if first {
			w.pool.opened(w)
			first = false
		}
	}
}

func (c *clientPool) query(id int) string {
	return "?limit=" + strconv.Itoa(c.limit) + "&user=watcher-" + strconv.Itoa(id) + "&format=" + c.format
}
