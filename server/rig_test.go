package server_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/backendtest"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server"
	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/config"
)

func TestMain(m *testing.M) { backendtest.Main(m) }

const (
	jwtSecret    = "a secret of the tests, long enough for HS256"
	awaitTimeout = 30 * time.Second
)

// harness is a real PostgreSQL and a real Redis for nodes to use. Nodes use the
// transport direct, so that no broker is needed.
type harness struct {
	t        *testing.T
	settings map[string]string
	redis    *backendtest.RedisServer
	tokens   *auth.Tokens
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	redis := backendtest.OwnRedis(t)
	return &harness{
		t: t, redis: redis, tokens: auth.NewTokens(jwtSecret, "scoreboard-dev", "scoreboard", time.Now),
		settings: map[string]string{
			"postgres-url": backendtest.Postgres(t, migrations.Up), "redis-url": redis.URL, "transport": "direct",
			"auth-jwt-secret": jwtSecret, "auth-signature": "optional",
			"auth-master-key":          "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
			"limit-updates-per-minute": "0", "limit-top-per-minute": "0", "limit-rank-per-minute": "0",
		},
	}
}

// node is a server within this process.
type node struct {
	h    *harness
	url  string
	ops  string
	logs *logs
	stop func()
}

// logs collects a node's log; tests read it while the node writes.
type logs struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// start runs a node with the roles until it is ready; settings are pairs of a flag's
// name and value.
func (h *harness) start(roles string, settings ...string) *node {
	h.t.Helper()
	n := h.launch(roles, settings...)
	h.await("the node to be ready", func() bool {
		status, _ := h.get(h.t, n.ops+"/readyz", nil)
		return status == http.StatusOK
	})
	return n
}

// launch runs a node, which may not be ready yet.
func (h *harness) launch(roles string, settings ...string) *node {
	h.t.Helper()
	flags := map[string]string{"roles": roles}
	for i := 0; i < len(settings); i += 2 {
		flags[settings[i]] = settings[i+1]
	}
	of := func(name string) (string, bool) {
		if v, ok := flags[name]; ok {
			return v, true
		}
		v, ok := h.settings[name]
		return v, ok
	}
	c, _, err := config.Load(of, func(string) (string, bool) { return "", false }, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	n := &node{h: h, logs: &logs{}}
	s, err := server.New(h.t.Context(), c,
		slog.New(slog.NewJSONHandler(n.logs, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		h.t.Fatal(err)
	}
	front, ops := listen(h.t), listen(h.t)
	n.url, n.ops = "http://"+front.Addr().String(), "http://"+ops.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, front, ops) }()
	n.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			h.t.Errorf("run: %v", err)
		}
		if h.t.Failed() {
			h.t.Logf("log of the node:\n%s", n.logs)
		}
	})
	h.t.Cleanup(n.stop)
	return n
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// get returns the status and the body of a GET request.
func (h *harness) get(t *testing.T, url string, header http.Header) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(req.Header, header)
	req.Close = true
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body := make([]byte, 4<<10) // a stream has no end; an error fits
	n, _ := res.Body.Read(body)
	return res.StatusCode, string(body[:n])
}

// request returns the whole response to a request.
func request(t *testing.T, method, url, body string, header http.Header) (status int, responseHeader http.Header,
	answer string,
) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(req.Header, header)
	req.Close = true
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	whole, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(whole)
}

func (h *harness) await(what string, ok func() bool) {
	h.t.Helper()
	for end := time.Now().Add(awaitTimeout); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("timed out after %s waiting for %s", awaitTimeout, what)
		}
	}
}

func (h *harness) token(user, scope string, life time.Duration) string {
	h.t.Helper()
	token, _, err := h.tokens.Mint(scoreboardUser(user), scope, life)
	if err != nil {
		h.t.Fatal(err)
	}
	return token
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// client returns a client with a token of the user.
func (n *node) client(user, scope string) *client.Client {
	n.h.t.Helper()
	c, err := client.New(n.url, client.Options{Token: n.h.token(user, scope, time.Hour)})
	if err != nil {
		n.h.t.Fatal(err)
	}
	n.h.t.Cleanup(c.Close)
	return c
}
