package tlsfiles_test

import (
	"crypto/tls"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/internal/tlsfiles"
)

func TestPostgresURL(t *testing.T) {
	t.Parallel()
	f := tlsfiles.Files{CA: `/etc/it's\ca.pem`}
	for text, want := range map[string]string{
		"postgres://a:b@h/d?sslmode=disable": "postgres://a:b@h/d?" +
			"sslmode=verify-full&sslrootcert=%2Fetc%2Fit%27s%5Cca.pem",
		"host=h user=a": `host=h user=a sslmode='verify-full' sslrootcert='/etc/it\'s\\ca.pem'`,
	} {
		if got := tlsfiles.PostgresURL(text, f); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
		if got := tlsfiles.PostgresURL(text, tlsfiles.Files{}); got != text {
			t.Errorf("without files: got %s", got)
		}
	}
}

// Of several hosts each is verified by its own name, and none is tried without TLS.
func TestSecurePostgresHosts(t *testing.T) {
	t.Parallel()
	c, err := tlsfiles.New("postgres.tls", tlsfiles.Files{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"disable", "prefer", "require"} {
		const url = "postgres://a:b@one,two:7,three/d?target_session_attrs=read-write&sslmode="
		config, err := pgx.ParseConfig(url + mode)
		if err != nil {
			t.Fatal(err)
		}
		c.SecurePostgres(&config.Config)
		names := []string{nameOf(config.TLSConfig)}
		for _, f := range config.Fallbacks {
			names = append(names, nameOf(f.TLSConfig))
		}
		if len(names) != 3 || names[0] != "one" || names[1] != "two" || names[2] != "three" {
			t.Errorf("%s: got %q, want one, two and three", mode, names)
		}
	}
}

func nameOf(c *tls.Config) string {
	if c == nil {
		return "no TLS"
	}
	return c.ServerName
}
