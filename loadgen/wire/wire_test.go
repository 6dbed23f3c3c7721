package wire

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
	c, err := New(u, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// ask returns the status and the body of an exchange, or its error as a text.
func ask(t *testing.T, c *Conns, request string) (status int, body string) {
	t.Helper()
	x, err := c.Get(t.Context())
	if err != nil {
		return 0, err.Error()
	}
	x.Buf = append(x.Buf[:0], request...)
	status, answer, err := x.Do(t.Context())
	if err != nil {
		return 0, err.Error()
	}
	b, err := io.ReadAll(answer)
	if err != nil {
		body = err.Error()
	}
	if err := answer.Close(); err != nil {
		t.Error(err)
	}
	return status, body + string(b)
}

// canned answers every request on a listener with the same bytes.
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

func TestAnswersAreReadAsTheyAreFramed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bytes  string
		status int
		body   string
		dials  int32 // for two exchanges
	}{
		"with a length":       {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", 1},
		"empty":               {"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n", 503, "", 1},
		"in chunks":           {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", 200, "hello", 1},
		"to the end":          {"HTTP/1.1 200 OK\r\n\r\nhello", 200, "hello", 2},
		"not to be kept":      {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", 2},
		"shorter than it is":  {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", 200, "unexpected EOFhello", 2},
		"no HTTP":             {"220 smtp ready\r\n", 0, `read the answer: it begins with "220 smtp ready\r\n"`, 2},
		"a length of nothing": {"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", 0, `read the answer's headers: a length of "x"`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, dials := canned(t, c.bytes, c.dials == 2)
			all := conns(t, address)
			for range 2 {
				if status, body := ask(t, all, get); status != c.status || body != c.body {
					t.Errorf("got %d %q, want %d %q", status, body, c.status, c.body)
				}
			}
			if n := dials.Load(); n != c.dials {
				t.Errorf("got %d connections for two exchanges, want %d", n, c.dials)
			}
		})
	}
}

// What a server closes while it rests shows only when it is used again.
func TestAConnectionClosedAtRestIsMadeAnew(t *testing.T) {
	t.Parallel()
	address, dials := canned(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true)
	c := conns(t, address)
	for range 3 {
		if status, body := ask(t, c, get); status != 200 || body != "ok" {
			t.Fatalf("got %d %q", status, body)
		}
		time.Sleep(20 * time.Millisecond) // let the close arrive; without it the write meets it, which is as good
	}
	if dials.Load() != 3 {
		t.Errorf("got %d connections", dials.Load())
	}
}

// The first use of a connection is not tried again: there the server refuses.
func TestAServerThatOnlyHangsUpIsAnError(t *testing.T) {
	t.Parallel()
	address, dials := canned(t, "", true)
	if status, body := ask(t, conns(t, address), get); status != 0 || body != errNothing.Error() {
		t.Errorf("got %d %q", status, body)
	}
	if dials.Load() != 1 {
		t.Errorf("got %d connections", dials.Load())
	}
}

func TestAnAnswerThatDoesNotComeTimesOut(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer s.Close()
	defer close(release)
	c := conns(t, s.URL)
	c.timeout = 50 * time.Millisecond
	if status, body := ask(t, c, get); status != 0 || !strings.HasSuffix(body, ": i/o timeout") {
		t.Errorf("got %d %q", status, body)
	}
}

func TestCutArrivesAndIsNotAnswered(t *testing.T) {
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
		t.Error("it did not arrive")
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "sealed") }))
	defer s.Close()
	c := conns(t, s.URL)
	if _, body := ask(t, c, get); !strings.Contains(body, "certificate") {
		t.Errorf("a certificate that nobody vouches for: got %q", body)
	}
	c.secure.RootCAs = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	if status, body := ask(t, c, get); status != 200 || body != "sealed" {
		t.Errorf("got %d %q", status, body)
	}
}

func TestServersThatAreNone(t *testing.T) {
	t.Parallel()
	u := &url.URL{Scheme: "ftp", Host: "x"}
	if _, err := New(u, time.Second); err == nil {
		t.Error("ftp was taken")
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
