package instance

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// failure handles a request instead of the node.
type failure = http.HandlerFunc

// Fail rejects the next n requests. retryAfter, if not 0, is rounded up to a second.
func (s *Server) Fail(n, status int, code wire.Code, retryAfter time.Duration) {
	s.addFailures(n, func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int((retryAfter+time.Second-1)/time.Second)))
		}
		refuse(w, status, code)
	})
}

// LoseAnswers passes the next n requests on, but closes the connection instead of
// responding.
func (s *Server) LoseAnswers(n int) {
	s.addFailures(n, func(_ http.ResponseWriter, r *http.Request) {
		s.proxy.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
}

// Queue passes the next n requests on as requests to be answered with a 202.
func (s *Server) Queue(n int) {
	s.addFailures(n, func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Prefer", "respond-async")
		s.proxy.ServeHTTP(w, r)
	})
}

// Hang does not respond to the next n requests until their client disconnects. The
// channel is closed once all n have arrived.
func (s *Server) Hang(n int) (all <-chan struct{}) {
	arrived := make(chan struct{})
	var count atomic.Int64
	s.addFailures(n, func(_ http.ResponseWriter, r *http.Request) {
		if count.Add(1) == int64(n) {
			close(arrived)
		}
		<-r.Context().Done()
	})
	return arrived
}

func (s *Server) addFailures(n int, f failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.fail = append(s.fail, f)
	}
}

// Script answers all requests for a path with a body that a healthy server does not
// send; nil ends it.
func (s *Server) Script(path string, body any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[path] = body
}

func refuse(w http.ResponseWriter, status int, code wire.Code) {
	w.Header().Set("X-Request-Id", "req-test")
	write(w, status, wire.Error{ErrorCode: string(code), Message: "simulated failure", RequestID: "req-test"})
}
