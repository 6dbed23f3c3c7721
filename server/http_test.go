package server

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/api"
)

// A client that does not read its responses is disconnected.
func TestSlowReaderIsDisconnected(t *testing.T) {
	t.Parallel()
	s := &Server{
		process:  &process{log: slog.New(slog.DiscardHandler)},
		settings: config.NewManager(config.ManagerOptions{Deployed: &config.Config{}}),
		api:      api.New(api.Options{Log: slog.New(slog.DiscardHandler), Now: time.Now}),
	}
	front := s.apiServer()
	if front.WriteTimeout == 0 || front.WriteTimeout > 2*time.Minute || front.HTTP2.WriteByteTimeout == 0 {
		t.Fatalf("responses have no time limit: %s, %s", front.WriteTimeout, front.HTTP2.WriteByteTimeout)
	}
	front.WriteTimeout = 300 * time.Millisecond // shortened for the test
	closed := make(chan struct{})
	front.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			close(closed)
		}
	}
	server := httptest.NewUnstartedServer(nil)
	server.Config = front
	server.Start()
	defer server.Close()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	// More than the kernel buffers on both ends; a response has 100 KB.
	if _, err := io.WriteString(c, strings.Repeat("GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n", 500)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Error("a client that reads nothing stays connected")
	}
}

// A client that sends headers or a body too slowly is disconnected. The limits are
// those of the port, shortened for the test.
func TestSlowRequestsAreDisconnected(t *testing.T) {
	t.Parallel()
	s := &Server{process: &process{log: slog.New(slog.DiscardHandler)}}
	handled := make(chan error, 10)
	front := s.newHTTPServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		handled <- err
	}))
	if front.ReadHeaderTimeout > 5*time.Second || front.ReadTimeout > 30*time.Second || front.IdleTimeout == 0 ||
		front.MaxHeaderBytes > 16<<10 {
		t.Errorf("the limits are too high: %+v", front)
	}
	if front.ReadHeaderTimeout == 0 || front.ReadTimeout == 0 || front.MaxHeaderBytes == 0 {
		t.Fatalf("a limit is missing: %+v", front)
	}
	front.ReadHeaderTimeout, front.ReadTimeout = 100*time.Millisecond, 200*time.Millisecond
	server := httptest.NewUnstartedServer(nil)
	server.Config = front
	server.Start()
	defer server.Close()
	dial := func(text string) net.Conn {
		t.Helper()
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	if _, err := io.Copy(io.Discard, dial("GET / HTTP/1.1\r\nHost: x\r\nX-A")); err != nil {
		t.Errorf("unfinished headers: %v, want a disconnect", err)
	}
	slow := dial("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc")
	select {
	case err := <-handled:
		if err == nil {
			t.Error("an unfinished body was read without an error")
		}
	case <-time.After(30 * time.Second):
		t.Error("an unfinished body keeps the connection open")
	}
	_ = slow.Close()
	line, err := bufio.NewReader(dial("GET / HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("a", 100<<10) +
		"\r\n\r\n")).ReadString('\n')
	if !strings.Contains(line, "431") {
		t.Errorf("headers of 100 KiB: got %q, %v, want a 431", line, err)
	}
}
