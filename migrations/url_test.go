package migrations_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
)

// A database that does not exist is named with the command that creates it.
func TestMissingDatabaseNamesTheCommand(t *testing.T) {
	t.Parallel()
	at, err := url.Parse(backends.Postgres(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	at.Path = "/missing"
	want := "create it with: createdb --host 127.0.0.1 --port " + at.Port() + " --username " +
		at.User.Username() + " missing"
	if err := migrations.Up(t.Context(), at.String()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// A URL that cannot be read is not quoted: which part of it is the password is unknown.
func TestBrokenURLIsNotQuoted(t *testing.T) {
	t.Parallel()
	const broken, good = "host=127.0.0.1 port=1 password=PA55 SECR3T", "postgres://u@127.0.0.1:1/db"
	err := migrations.Up(t.Context(), broken)
	_, statusErr := migrations.Status(t.Context(), broken)
	_, ownerErr := migrations.Grant(t.Context(), broken, good)
	_, runtimeErr := migrations.Grant(t.Context(), good, broken)
	for _, err := range []error{err, statusErr, ownerErr, runtimeErr} {
		if err == nil || strings.Contains(err.Error(), "PA55") || strings.Contains(err.Error(), "SECR3T") ||
			!strings.Contains(err.Error(), "PostgreSQL URL is invalid") {
			t.Errorf("got %v", err)
		}
	}
}
