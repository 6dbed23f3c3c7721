package clienttest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server"
	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The signing key of every node.
const (
	KeyID  = "k1"
	Secret = "sk_test_0123456789abcdef"
)

const jwtSecret = "a secret of the tests, long enough for HS256"

// defaults are the settings of every node: the roles and the transport that need no
// Kafka, the secrets above, and an issuer of tokens. A shutdown closes all streams
// at once.
var defaults = map[string]string{
	"roles": "api,relay,projector,gateway,maintenance", "transport": "direct",
	"auth-dev-issuer": "true", "auth-jwt-secret": jwtSecret,
	"auth-master-key":        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
	"realtime-drain-percent": "100",
}

// Token returns a user's token with scopes separated by spaces. Every node accepts it.
func Token(user, scope string) string { return TokenFor(user, scope, time.Hour) }

// TokenFor returns a token that expires after life, which may be negative.
func TokenFor(user, scope string, life time.Duration) string {
	issuer := auth.NewTokens(jwtSecret, "scoreboard-dev", "scoreboard", time.Now)
	token, _, err := issuer.Mint(scoreboard.UserID(user), scope, life)
	if err != nil {
		panic(err) // only without a secret
	}
	return token
}

// Node is a server in this process.
type Node struct {
	URL string // of the API
	Ops string // of the operations port

	log  *logs
	stop func() error
}

// logs collects a node's log of problems. Tests read it while the node writes.
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

// StartNode runs a server on PostgreSQL and Redis until the test ends. settings are
// pairs of a flag's name and value, over the defaults of every node.
func StartNode(t testing.TB, postgres, redis string, settings ...string) *Node {
	t.Helper()
	n, err := startNode(t.Context(), postgres, redis, settings)
	if err != nil {
		t.Fatalf("start a server: %v", err)
	}
	t.Cleanup(func() {
		if err := n.stop(); err != nil {
			t.Errorf("run the server: %v", err)
		}
	})
	return n
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
	problems := &logs{}
	log := slog.New(slog.NewTextHandler(problems, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, err := server.New(ctx, c, log)
	if err != nil {
		return nil, err
	}
	if err := s.EnsureKey(ctx, KeyID, "test", Secret); err != nil {
		s.Close()
		return nil, fmt.Errorf("create the signing key: %w", err)
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
		log: problems, stop: sync.OnceValue(func() error { cancel(); return <-ended }),
	}, nil
}
