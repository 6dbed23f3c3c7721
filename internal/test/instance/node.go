package instance

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The signing key that CreateKey creates.
const (
	KeyID  = "k1"
	Secret = "sk_test_0123456789abcdef"
)

const jwtSecret = "a secret of the tests, long enough for HS256"

// defaults are the settings of every node: the roles and the transport that need no
// Kafka, secrets, and an issuer of tokens. A shutdown closes all streams at once, and
// increments wait for a busy machine instead of being rejected.
var defaults = map[string]string{
	"roles": "api,relay,projector,gateway,maintenance", "transport": "direct",
	"auth-dev-issuer": "true", "auth-jwt-secret": jwtSecret,
	"auth-master-key":        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
	"realtime-drain-percent": "100", "ingest-wait": "10s", "log-level": "warn", "drain-delay": "0s",
}

// Token returns a user's token with scopes separated by spaces. Every node accepts it.
func Token(user, scope string) string { return TokenFor(user, scope, time.Hour) }

// TokenFor returns a token that expires after ttl, which may be negative.
func TokenFor(user, scope string, ttl time.Duration) string {
	return mint("scoreboard", user, scope, ttl)
}

// TokenOf returns a user's token for another audience, which no node accepts.
func TokenOf(audience, user string) string { return mint(audience, user, "", time.Hour) }

func mint(audience, user, scope string, ttl time.Duration) string {
	issuer := auth.NewTokens(jwtSecret, "scoreboard-dev", audience, time.Now)
	token, _, err := issuer.Mint(scoreboard.UserID(user), scope, ttl)
	if err != nil {
		panic(err) // only without a secret
	}
	return token
}

// Node is a server in this process.
type Node struct {
	URL string // of the API
	Ops string // of the operations port

	server *server.Server
	log    *backends.Buffer
	stop   func() error
}

// StartNode runs a server on PostgreSQL and Redis until the test ends. settings are
// pairs of a flag's name and value, over the defaults of every node.
func StartNode(t testing.TB, postgres, redis string, settings ...string) *Node {
	t.Helper()
	n, err := startNode(t.Context(), postgres, redis, settings)
	if err != nil {
		t.Fatalf("start a server: %v", err)
	}
	t.Cleanup(func() {
		n.Stop(t)
		if t.Failed() {
			t.Logf("log of the server:\n%s", n.log)
		}
	})
	return n
}

// Stop stops the node.
func (n *Node) Stop(t testing.TB) {
	t.Helper()
	if err := n.stop(); err != nil {
		t.Errorf("run the server: %v", err)
	}
}

// Log returns what the node has logged at the setting log.level, by default problems.
func (n *Node) Log() string { return n.log.String() }

// CreateKey creates the signing key unless it exists. The node must have the role api.
func (n *Node) CreateKey(t testing.TB) {
	t.Helper()
	if err := n.server.EnsureKey(t.Context(), KeyID, "test", Secret); err != nil {
		t.Fatalf("create the signing key: %v", err)
	}
}

func startNode(ctx context.Context, postgres, redis string, settings []string) (_ *Node, err error) {
	given := map[string]string{"postgres-url": postgres, "redis-url": redis}
	for i := 0; i < len(settings); i += 2 {
		given[settings[i]] = settings[i+1]
	}
	flags := func(name string) (string, bool) {
		if value, ok := given[name]; ok {
			return value, true
		}
		value, ok := defaults[name]
		return value, ok
	}
	c, _, err := config.Load(flags, func(string) (string, bool) { return "", false }, nil)
	if err != nil {
		return nil, err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return nil, err
	}
	log := &backends.Buffer{}
	s, err := server.New(ctx, c, slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: level})))
	if err != nil {
		return nil, err
	}
	var listeners [2]net.Listener
	for i := range listeners {
		if listeners[i], err = (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			s.Close()
			return nil, err
		}
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running, listeners[0], listeners[1]) }()
	return &Node{
		URL: "http://" + listeners[0].Addr().String(), Ops: "http://" + listeners[1].Addr().String(),
		server: s, log: log, stop: sync.OnceValue(func() error { cancel(); return <-ended }),
	}, nil
}
