package main

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server"
	"github.com/scoreboard/scoreboard/server/backendtest"
	knobs "github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Sessions of operators, with a real server on real backends that all of them
// share; each has users of its own.
func TestOperatorScripts(t *testing.T) {
	s, url := startServer(t)
	token := func(user, scope string) string {
		made, err := s.MintToken(scoreboard.UserID(user), scope, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	if err := s.EnsureKey(t.Context(), "k1", "tests", "sk_of_the_tests"); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/operate",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Setenv("XDG_CONFIG_HOME", "")
			env.Setenv("SBCTL_SERVER", url)
			env.Setenv("SBCTL_TOKEN", token("root", "score:update score:admin"))
			env.Setenv("SBCTL_KEY_ID", "k1")
			env.Setenv("SBCTL_KEY_SECRET", "sk_of_the_tests")
			env.Setenv("READER", token("reader", ""))
			env.Setenv("MALLORY", token("mallory", ""))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "soon": soon},
	})
}

// soon TEXT COMMAND… runs a command until its output holds the text.
func soon(ts *testscript.TestScript, not bool, args []string) {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		out := ts.ReadFile("stdout") + ts.ReadFile("stderr")
		if strings.Contains(out, args[0]) != not {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("waited for %q of %v; it says %q, %v", args[0], args[1:], out, err)
		}
	}
}

// startServer runs a server with all its roles but those of Kafka.
func startServer(t *testing.T) (*server.Server, string) {
	t.Helper()
	given := map[string]string{
		"postgres-url": backendtest.Postgres(t, migrations.Up), "redis-url": backendtest.Redis(t),
		"roles": "api,relay,projector,gateway,maintenance", "transport": "direct", "auth-dev-issuer": "true",
		"auth-jwt-secret": "a secret of the tests, long enough for HS256", "limit-updates-per-minute": "0",
		"auth-master-key": "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
		"ledger-archive":  filepath.Join(t.TempDir(), "archive"),
	}
	c, _, err := knobs.Load(func(name string) (string, bool) { v, ok := given[name]; return v, ok },
		func(string) (string, bool) { return "", false }, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	listen := func() net.Listener {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	api := listen()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx, api, listen()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
	return s, "http://" + api.Addr().String()
}
