package codec

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func conns(t *testing.T, address string) *Conns {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewConns(u, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// exchange returns the status and the body of a response, or the error as text.
func exchange(t *testing.T, c *Conns, request string) (status int, body string) {
	t.Helper()
	x, err := c.Get(t.Context())
	if err != nil {
		return 0, err.Error()
	}
	x.Buf = append(x.Buf[:0], request...)
	status, response, err := x.Do(t.Context())
	if err != nil {
		return 0, err.Error()
	}
	b, err := io.ReadAll(response)
	if err != nil {
		body = err.Error()
	}
	if err := response.Close(); err != nil {
		t.Error(err)
	}
	return status, body + string(b)
}

// canned is a server with the same response to every request.
func canned(t *testing.T, bytes string, thenClose bool) (address string, dials *atomic.Int32) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dials = &atomic.Int32{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			dials.Add(1)
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					if _, err := io.WriteString(c, bytes); err != nil || thenClose {
						return
					}
				}
			}()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-ended })
	return "http://" + l.Addr().String(), dials
}

func TestResponseFraming(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bytes  string
		status int
		body   string
		dials  int32 // for two exchanges
	}{
		"with a length": {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", 1},
		"empty":         {"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n", 503, "", 1},
		"chunked": {
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", 200, "hello", 1,
		},
		"until close":      {"HTTP/1.1 200 OK\r\n\r\nhello", 200, "hello", 2},
		"connection close": {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", 2},
		"truncated":        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", 200, "unexpected EOFhello", 2},
		"not HTTP": {
			"220 smtp ready\r\n", 0, `read the response: unexpected status line "220 smtp ready\r\n"`, 2,
		},
		"invalid length": {
			"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", 0,
			`read the response header: invalid Content-Length "x"`, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, dials := canned(t, c.bytes, c.dials == 2)
			all := conns(t, address)
			for range 2 {
				if status, body := exchange(t, all, get); status != c.status || body != c.body {
					t.Errorf("got %d %q, want %d %q", status, body, c.status, c.body)
				}
			}
			if n := dials.Load(); n != c.dials {
				t.Errorf("got %d connections for two exchanges, want %d", n, c.dials)
			}
		})
	}
}

// The client notices a closed idle connection only when it uses it.
func TestClosedIdleConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	address, dials := canned(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true)
	c := conns(t, address)
	for range 3 {
		if status, body := exchange(t, c, get); status != 200 || body != "ok" {
			t.Fatalf("got %d %q", status, body)
		}
		time.Sleep(20 * time.Millisecond) // let the close arrive; otherwise the write fails, which is equivalent
	}
	if dials.Load() != 3 {
		t.Errorf("got %d connections", dials.Load())
	}
}

// A new connection is not retried: the server rejects it.
func TestClosedNewConnectionIsAnError(t *testing.T) {
	t.Parallel()
	address, dials := canned(t, "", true)
	if status, body := exchange(t, conns(t, address), get); status != 0 || body != errNoResponse.Error() {
		t.Errorf("got %d %q", status, body)
	}
	if dials.Load() != 1 {
		t.Errorf("got %d connections", dials.Load())
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer s.Close()
	defer close(release)
	c := conns(t, s.URL)
	c.timeout = 50 * time.Millisecond
	if status, body := exchange(t, c, get); status != 0 || !strings.HasSuffix(body, ": i/o timeout") {
		t.Errorf("got %d %q", status, body)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- string(b)
	}))
	defer s.Close()
	c := conns(t, s.URL)
	x, err := c.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x.Buf = append(x.Buf[:0], "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"...)
	if err := x.Cut(); err != nil {
		t.Fatal(err)
	}
	select {
	case body := <-got:
		if body != "abc" {
			t.Errorf("got %q", body)
		}
	case <-time.After(10 * time.Second):
		t.Error("the request did not arrive")
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secret") }),
	)
	defer s.Close()
	c := conns(t, s.URL)
	if _, body := exchange(t, c, get); !strings.Contains(body, "certificate") {
		t.Errorf("unknown certificate: got %q", body)
	}
	c.secure.RootCAs = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	if status, body := exchange(t, c, get); status != 200 || body != "secret" {
		t.Errorf("got %d %q", status, body)
	}
}

func TestInvalidServers(t *testing.T) {
	t.Parallel()
	u := &url.URL{Scheme: "ftp", Host: "x"}
	if _, err := NewConns(u, time.Second); err == nil {
		t.Error("ftp was accepted")
	}
	c := conns(t, "http://127.0.0.1:1")
	if _, err := c.Get(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(ctx); !errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "canceled") {
		t.Errorf("got %v", err)
	}
}
