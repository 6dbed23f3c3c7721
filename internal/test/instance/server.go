package instance

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
)

// Server is a node behind a proxy that simulates failures.
type Server struct {
	URL string // of the proxy, also for the operations port

	t         testing.TB
	node      *Node
	redis     *backends.RedisServer
	admin     *client.Client // talks to the node, past the proxy
	front     *httptest.Server
	transport *http.Transport
	proxy     *httputil.ReverseProxy
	streaming sync.WaitGroup

	mu      sync.Mutex
	seen    []Request
	fail    []failure      // of the next requests, in order
	scripts map[string]any // bodies by path
	hidden  map[string]bool
	delays  map[string]time.Duration
	streams map[*stream]bool // the open ones
}

// Request is a received request.
type Request struct {
	Method, Path, Token string
	Increment           wire.IncrementRequest // of POST /v1/scores/increment
	Header              http.Header
	// ResponseID is the X-Request-Id of the node's response, empty before it.
	ResponseID string
}

// New starts a server that stops when the test ends. settings are pairs of a flag's
// name and value.
func New(t testing.TB, settings ...string) *Server {
	t.Helper()
	i := newInstance(t, settings)
	s := &Server{
		t: t, node: i.node, redis: i.redis,
		scripts: map[string]any{}, hidden: map[string]bool{}, delays: map[string]time.Duration{},
		streams: map[*stream]bool{},
	}
	s.transport = http.DefaultTransport.(*http.Transport).Clone()
	s.transport.MaxIdleConnsPerHost = 256
	s.proxy = &httputil.ReverseProxy{
		Rewrite: s.toNode, ModifyResponse: s.noteResponse, Transport: s.transport, FlushInterval: -1,
		ErrorLog: log.New(io.Discard, "", 0), // clients that disconnect
	}
	s.front = httptest.NewServer(s)
	s.URL = s.front.URL
	t.Cleanup(func() {
		s.Close()
		s.transport.CloseIdleConnections()
	})
	var err error
	s.admin, err = client.New(s.node.URL, client.Options{
		Token: Token("instance", "score:update score:admin"), KeyID: KeyID, KeySecret: Secret,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.admin.Close)
	s.Shows() // the ranking is built at the start
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the server:\n%s", s.node.Log())
		}
	})
	return s
}

// Close stops the proxy: streams end, and connections are refused.
func (s *Server) Close() {
	s.Disconnect(nil)
	s.front.CloseClientConnections()
	s.front.Close()
	s.streaming.Wait()
}

// Seen returns all requests so far, including streams.
func (s *Server) Seen() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.seen...)
}

// ServeHTTP simulates the next failure, or passes the request on.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // to its end: only then a disconnect is noticed
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	f, script, n := s.note(r, body)
	r = r.WithContext(context.WithValue(r.Context(), seenKey{}, n))
	switch {
	case f != nil:
		f(w, r)
	case script != nil:
		write(w, http.StatusOK, script)
	case r.URL.Path == "/v1/realtime/leaderboard":
		s.stream(w, r, KindOf(Request{Header: r.Header}))
	default:
		s.proxy.ServeHTTP(w, r)
	}
}

// seenKey is the context key of a request's index in seen.
type seenKey struct{}

// note records a request, and returns what is simulated for it.
func (s *Server) note(r *http.Request, body []byte) (f failure, script any, n int) {
	seen := Request{
		Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone(),
		Token: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
	}
	if r.Method == http.MethodPost && r.URL.Path == "/v1/scores/increment" {
		_ = json.Unmarshal(body, &seen.Increment) // an invalid body is the node's to reject
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, seen)
	if len(s.fail) > 0 {
		f, s.fail = s.fail[0], s.fail[1:]
	}
	return f, s.scripts[r.URL.Path], len(s.seen) - 1
}

// toNode addresses a request to one of the node's ports.
func (s *Server) toNode(r *httputil.ProxyRequest) {
	address := s.node.URL
	if r.In.URL.Path == "/readyz" || r.In.URL.Path == "/metrics" {
		address = s.node.Ops
	}
	node, err := url.Parse(address)
	if err != nil { // it is the address of a listener
		panic(err)
	}
	r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = node.Scheme, node.Host, r.In.Host
}

func (s *Server) noteResponse(r *http.Response) error {
	n, ok := r.Request.Context().Value(seenKey{}).(int)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[n].ResponseID = r.Header.Get("X-Request-Id")
	return nil
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only if the client has gone
}
