package server_test

import (
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/instance"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

func TestMain(m *testing.M) { backends.Main(m) }

const (
	jwtSecret    = "a secret of the tests, long enough for HS256"
	awaitTimeout = 30 * time.Second
)

// harness is a real PostgreSQL and a real Redis for nodes to use. Nodes use the
// transport direct, so that no broker is needed.
type harness struct {
	t        testing.TB
	settings map[string]string
	postgres string
	redis    *backends.RedisServer
	tokens   *auth.Tokens
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	return &harness{
		t: t, postgres: backends.Postgres(t, migrations.Up), redis: backends.OwnRedis(t),
		tokens: auth.NewTokens(jwtSecret, "scoreboard-dev", "scoreboard", time.Now),
		settings: map[string]string{
			"auth-jwt-secret": jwtSecret, "auth-dev-issuer": "false", "auth-signature": "optional",
			"limit-updates-per-minute": "0", "limit-top-per-minute": "0", "limit-rank-per-minute": "0",
			"realtime-drain-percent": "2", "log-level": "debug",
		},
	}
}

// useKafka has nodes use Kafka, with topics and groups that begin with prefix.
func (h *harness) useKafka() (brokers []string, prefix string) {
	h.t.Helper()
	brokers, prefix = backends.Kafka(h.t), backends.Prefix(h.t)
	for name, topic := range map[string]string{
		"kafka-topic": "events", "kafka-increments-topic": "increments", "kafka-dead-topic": "dead",
		"kafka-notices-topic": "notices", "kafka-seasons-topic": "seasons", "kafka-increments-dead-topic": "idead",
		"kafka-group": "group", "kafka-intake-group": "intake",
	} {
		h.settings[name] = prefix + topic
	}
	h.settings["transport"], h.settings["kafka-brokers"] = "kafka", strings.Join(brokers, ",")
	return brokers, prefix
}

// node is a server within this process.
type node struct {
	*instance.Node
	h *harness
}

func (n *node) stop() {
	n.h.t.Helper()
	n.Stop(n.h.t)
}

// start runs a node with the roles until it is ready; settings are pairs of a flag's
// name and value.
func (h *harness) start(roles string, settings ...string) *node {
	h.t.Helper()
	n := h.launch(roles, settings...)
	h.await("the node to be ready", func() bool {
		status, _ := h.get(h.t, n.Ops+"/readyz", nil)
		return status == http.StatusOK
	})
	return n
}

// launch runs a node, which may not be ready yet.
func (h *harness) launch(roles string, settings ...string) *node {
	h.t.Helper()
	given := []string{"roles", roles}
	for name, value := range h.settings {
		given = append(given, name, value)
	}
	n := instance.StartNode(h.t, h.postgres, h.redis.URL, append(given, settings...)...)
	return &node{n, h}
}

// get returns the status and the body of a GET request.
func (h *harness) get(t testing.TB, url string, header http.Header) (int, string) {
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
func request(t testing.TB, method, url, body string, header http.Header) (status int, responseHeader http.Header,
	answer string,
) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(req.Header, header)
	if body != "" && header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
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

func (h *harness) token(user, scope string, ttl time.Duration) string {
	h.t.Helper()
	token, _, err := h.tokens.Mint(scoreboardUser(user), scope, ttl)
	if err != nil {
		h.t.Fatal(err)
	}
	return token
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// client returns a client with a token of the user.
func (n *node) client(user, scope string) *client.Client {
	n.h.t.Helper()
	c, err := client.New(n.URL, client.Options{Token: n.h.token(user, scope, time.Hour)})
	if err != nil {
		n.h.t.Fatal(err)
	}
	n.h.t.Cleanup(c.Close)
	return c
}
