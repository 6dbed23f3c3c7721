package server_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/internal/tlsfiles"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A daemon works with a cluster and with sentinels that require TLS and a client
// certificate.
func TestSecuredClusterAndSentinels(t *testing.T) {
	t.Parallel()
	ca := fixtures.IssueCertificate(t, "ca", nil)
	own, daemon := fixtures.IssueCertificate(t, "localhost", ca), fixtures.IssueCertificate(t, "daemon", ca)
	files := &backends.ServerFiles{CA: ca.CertPEM, Cert: own.CertPEM, Key: own.KeyPEM}
	h := newHarness(t)
	dir := t.TempDir()
	for name, text := range map[string][]byte{"ca": ca.CertPEM, "cert": daemon.CertPEM, "key": daemon.KeyPEM} {
		path := filepath.Join(dir, name+".pem")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		h.settings["redis-tls-"+name] = path
	}
	for i, url := range []string{
		backends.OwnSecureRedisCluster(t, 2, files).URL, backends.OwnSecureRedisSentinels(t, files).URL,
	} {
		n := h.start(allRoles, "redis-url", url)
		_, err := n.client("game", auth.ScopeUpdate).Submit(t.Context(), client.Increment{User: "ada", Delta: 5})
		if err != nil {
			t.Errorf("%s: %v", url, err)
		}
		h.ranked(n, "global", "ada", 5+5*i)
		n.stop()
	}
}

// A daemon works with a PostgreSQL and a Redis that require TLS and a client certificate.
// Where a setting is wrong, readiness names it.
func TestSecuredBackends(t *testing.T) {
	t.Parallel()
	ca, other := fixtures.IssueCertificate(t, "ca", nil), fixtures.IssueCertificate(t, "other", nil)
	own, daemon := fixtures.IssueCertificate(t, "localhost", ca), fixtures.IssueCertificate(t, "daemon", ca)
	files := &backends.ServerFiles{CA: ca.CertPEM, Cert: own.CertPEM, Key: own.KeyPEM}
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	caFile, otherFile := file("ca.pem", ca.CertPEM), file("other.pem", other.CertPEM)
	cert, key := file("cert.pem", daemon.CertPEM), file("key.pem", daemon.KeyPEM)
	h := newHarness(t)
	postgres := backends.OwnSecurePostgres(t, migrations.Up, files)
	h.postgres, h.redis = postgres.URL, backends.OwnSecureRedis(t, files)
	for _, backend := range []string{"postgres", "redis"} {
		h.settings[backend+"-tls-ca"] = caFile
		h.settings[backend+"-tls-cert"], h.settings[backend+"-tls-key"] = cert, key
	}
	n := h.start(allRoles)
	receipt, err := n.client("game", auth.ScopeUpdate).Submit(t.Context(), client.Increment{User: "ada", Delta: 5})
	if err != nil || receipt.NewScore != 5 {
		t.Errorf("got %+v, %v", receipt, err)
	}
	h.ranked(n, "global", "ada", 5)
	n.stop()

	wrong := func(url string) string { return strings.Replace(url, ":scoreboard_runtime@", ":s3cret-guess@", 1) }
	for name, c := range map[string]struct {
		backend, want string
		settings      []string
	}{
		"authority of PostgreSQL": {
			"postgres", "postgres.tls_ca: the server's certificate is signed by an unknown authority: ",
			[]string{"postgres-tls-ca", otherFile},
		},
		"no certificate for PostgreSQL": {
			"postgres", "postgres.url: PostgreSQL says: connection requires a valid client certificate: ",
			[]string{"postgres-tls-cert", "", "postgres-tls-key", ""},
		},
		"password of PostgreSQL": {
			"postgres", "postgres.url: PostgreSQL says: password authentication failed",
			[]string{"postgres-url", wrong(h.postgres)},
		},
		"authority of Redis": {
			"redis", "redis.tls_ca: the server's certificate is signed by an unknown authority: ",
			[]string{"redis-tls-ca", otherFile},
		},
		"no certificate for Redis": {
			"redis", "redis.tls_cert: the server rejects this client",
			[]string{"redis-tls-cert", "", "redis-tls-key", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := h.launch(gatewayOnly, c.settings...)
			report := make(map[string]string)
			h.await(c.want, func() bool {
				_, body := h.get(t, n.Ops+"/readyz", nil)
				return json.Unmarshal([]byte(body), &report) == nil && strings.HasPrefix(report[c.backend], c.want)
			})
			n.stop()
			if log := n.Log(); strings.Contains(log, "s3cret-guess") || strings.Contains(log, "goroutine ") {
				t.Errorf("a password or a stack trace in the log:\n%s", log)
			}
		})
	}
	// sbctl migrate connects with the same files.
	owner := tlsfiles.PostgresURL(backends.Owner(strings.Replace(postgres.URL, "localhost", "127.0.0.1", 1)),
		tlsfiles.Files{CA: caFile, Cert: cert, Key: key})
	if _, err := migrations.Status(t.Context(), owner); err == nil ||
		!strings.Contains(tlsfiles.Explain("postgres.tls", err).Error(), "postgres.tls_ca: x509: ") {
		t.Errorf("by an address that the certificate does not name: got %v", err)
	}
	if _, err := migrations.Status(t.Context(), strings.Replace(owner, "127.0.0.1", "localhost", 1)); err != nil {
		t.Error(err)
	}
}
