package clienttest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The key of a new server.
const (
	KeyID  = "k1"
	Secret = "sk_test_0123456789abcdef"
)

var jwtSecret = []byte("clienttest")

// Server is a fake scoreboard server on a free local port.
type Server struct {
	URL string

	http *httptest.Server
	mu   sync.Mutex
	keys []protocol.Key
	// former holds the previous secrets of rotated keys, by key id.
	former map[string]string
	fail   []failure // of the next requests, in order
	seen   []Request
	game   game
	found  []protocol.Check                      // results of the server's checks
	subs   map[chan struct{}]chan protocol.Frame // by the channel that wakes them
	gone   chan struct{}                         // closed when streams must end
	bye    *protocol.Frame
	hide   map[string]bool // disabled kinds of stream
}

// Request is a received request.
type Request struct {
	Method, Path, Token string
	Increment           protocol.IncrementRequest // of POST /v1/scores/increment
	Header              http.Header
}

type failure struct {
	status     int
	code       scoreboard.Code
	retryAfter time.Duration
	after      bool // the request takes effect, only its response is lost
	hang       bool // there is no response until the client disconnects
}

// New starts a server that stops when the test ends.
func New(t testing.TB) *Server {
	s := Start()
	t.Cleanup(s.Close)
	return s
}

// Start starts a server that Close stops, for runnable examples.
func Start() *Server {
	s := &Server{
		keys: []protocol.Key{{
			KeyID: KeyID, Name: "test", Secret: Secret, CreatedAt: time.Now().UTC(),
			Generation: 1,
		}},
		former: map[string]string{},
		subs:   map[chan struct{}]chan protocol.Frame{}, gone: make(chan struct{}), hide: map[string]bool{},
	}
	s.game.reset()
	s.http = httptest.NewServer(s.routes())
	s.URL = s.http.URL
	return s
}

// Close ends all streams and stops the server.
func (s *Server) Close() {
	s.Disconnect(nil)
	s.http.CloseClientConnections()
	s.http.Close()
}

// Token returns a user's token with scopes separated by spaces.
func Token(user, scope string) string { return TokenFor(user, scope, time.Hour) }

// TokenFor returns a token that expires after ttl.
func TokenFor(user, scope string, ttl time.Duration) string {
	claims := jwt.MapClaims{"sub": user, "scope": scope, "exp": time.Now().Add(ttl).Unix()}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(jwtSecret)
	if err != nil {
		panic(err) // HMAC cannot fail on a byte slice
	}
	return signed
}

// Fail rejects the next n requests.
func (s *Server) Fail(n, status int, code scoreboard.Code, retryAfter time.Duration) {
	s.addFailures(n, failure{status: status, code: code, retryAfter: retryAfter})
}

// LoseAnswers processes the next n requests but closes the connection instead of
// responding.
func (s *Server) LoseAnswers(n int) { s.addFailures(n, failure{after: true}) }

// Hang does not respond to the next n requests until their client disconnects.
func (s *Server) Hang(n int) { s.addFailures(n, failure{hang: true}) }

func (s *Server) addFailures(n int, f failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.fail = append(s.fail, f)
	}
}

// Seen returns all requests so far, including streams.
func (s *Server) Seen() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.seen...)
}

// Hide disables or enables a kind of stream, "ws" or "sse".
func (s *Server) Hide(kind string, hidden bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hide[kind] = hidden
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/scores/increment", s.increment)
	mux.HandleFunc("POST /v1/scores/increments", s.batch)
	mux.HandleFunc("GET /v1/events/{id}", s.event)
	mux.HandleFunc("GET /v1/leaderboard/top", s.top)
	mux.HandleFunc("GET /v1/leaderboard/me", s.me)
	mux.HandleFunc("POST /v1/leaderboard/users", s.list)
	mux.HandleFunc("GET /v1/users/{user}/score", s.user)
	mux.HandleFunc("GET /v1/users/{user}/rank", s.user)
	mux.HandleFunc("GET /v1/users/{user}/statement", s.statement)
	mux.HandleFunc("GET /v1/admin/checks", s.checks)
	mux.HandleFunc("GET /v1/admin/status", s.status)
	mux.HandleFunc("GET /v1/boards", s.listBoards)
	mux.HandleFunc("GET /v1/boards/{board}", s.showBoard)
	mux.HandleFunc("GET /v1/realtime/leaderboard", s.stream)
	mux.HandleFunc("POST /v1/admin/tokens", s.mint)
	mux.HandleFunc("GET /v1/admin/keys", s.listKeys)
	mux.HandleFunc("POST /v1/admin/keys", s.createKey)
	mux.HandleFunc("POST /v1/admin/keys/{id}/rotate", s.rotateKey)
	mux.HandleFunc("DELETE /v1/admin/keys/{id}", s.revokeKey)
	mux.HandleFunc("GET /readyz",
		func(w http.ResponseWriter, _ *http.Request) { write(w, 200, map[string]bool{"ready": true}) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "req-test")
		f, place := s.note(r)
		r = r.WithContext(context.WithValue(r.Context(), placeKey{}, place))
		switch {
		case f.hang:
			_, _ = io.Copy(io.Discard, r.Body) // the server notices a disconnect only after the body's end
			<-r.Context().Done()
		case f.after:
			mux.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case f.status != 0:
			if f.retryAfter > 0 {
				w.Header().Set("Retry-After", strconv.Itoa(int((f.retryAfter+time.Second-1)/time.Second)))
			}
			refuse(w, f.status, &scoreboard.Error{Code: f.code, Message: "simulated failure"})
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// placeKey is the context key of a request's index in seen.
type placeKey struct{}

func (s *Server) note(r *http.Request) (f failure, place int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen,
		Request{Method: r.Method, Path: r.URL.RequestURI(), Token: bearer(r), Header: r.Header.Clone()})
	if len(s.fail) > 0 {
		f, s.fail = s.fail[0], s.fail[1:]
	}
	return f, len(s.seen) - 1
}

func bearer(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// caller returns the token's user and scopes, or rejects the request.
func caller(w http.ResponseWriter, r *http.Request) (user, scope string, ok bool) {
	token, err := jwt.Parse(bearer(r), func(*jwt.Token) (any, error) { return jwtSecret, nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired())
	if err != nil {
		refuse(w, 401, scoreboard.Errorf(scoreboard.CodeUnauthorized, "the token is missing, malformed or expired"))
		return "", "", false
	}
	claims := token.Claims.(jwt.MapClaims)
	user, _ = claims["sub"].(string)
	scope, _ = claims["scope"].(string)
	return user, scope, true
}

func admin(w http.ResponseWriter, r *http.Request) bool {
	_, scope, ok := caller(w, r)
	if ok && !hasScope(scope, "score:admin") {
		refuse(w, 403, scoreboard.Errorf(scoreboard.CodeForbidden, "the token lacks the scope score:admin"))
		return false
	}
	return ok
}

func hasScope(scope, want string) bool {
	for _, s := range strings.Fields(scope) {
		if s == want {
			return true
		}
	}
	return false
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, err error) {
	write(w, status, errorBody(err))
}

func errorBody(err error) protocol.Error {
	body := protocol.Error{ErrorCode: string(scoreboard.CodeOf(err)), Message: err.Error(), RequestID: "req-test"}
	var e *scoreboard.Error
	if errors.As(err, &e) {
		body.Message, body.Field = e.Message, e.Field
	}
	return body
}
