package server_test

import (
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/scoreboard/scoreboard/server"
	"github.com/scoreboard/scoreboard/server/config"
)

// A server that cannot be built leaves nothing open: goleak would find the pool's
// goroutine. The backends are never reached, so the test needs none. It does not run
// in parallel, because other tests start goroutines.
func TestNewClosesWhatItOpened(t *testing.T) {
	nowhere, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := nowhere.Addr().String()
	if err := nowhere.Close(); err != nil {
		t.Fatal(err)
	}
	started := goleak.IgnoreCurrent()
	for name, c := range map[string]struct{ flag, value, want string }{
		"file":         {"redis-tls-ca", filepath.Join(t.TempDir(), "missing.pem"), "redis.tls_ca"},
		"master key":   {"auth-master-key", "short", "master"},
		"archive":      {"ledger-archive", "s3://", "ledger.archive"},
		"country file": {"anomaly-country-file", filepath.Join(t.TempDir(), "missing.mmdb"), "missing.mmdb"},
	} {
		flags := map[string]string{
			"postgres-url": "postgres://" + address + "/scoreboard", "redis-url": "rediss://" + address,
			"kafka-brokers": address, "auth-jwt-secret": jwtSecret,
			"auth-master-key": "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
		}
		flags[c.flag] = c.value
		lookup := func(name string) (string, bool) { v, ok := flags[name]; return v, ok }
		loaded, _, err := config.Load(lookup, func(string) (string, bool) { return "", false }, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s, err := server.New(t.Context(), loaded, slog.New(slog.DiscardHandler))
		if s != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got a server %t and the error %v, want an error with %q", name, s != nil, err, c.want)
		}
		if err := goleak.Find(started); err != nil {
			t.Errorf("%s: goroutines are left: %v", name, err)
		}
	}
}
