package store_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Before the first migration the daemon's role does not exist. The problem names the command
// that creates it.
func TestMissingRoleNamesTheMigration(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(backends.Postgres(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("nobody", "secret")
	setup := new(scoreboard.SetupError)
	if err := storetest.Open(t, u.String()).Ping(t.Context()); !errors.As(err, &setup) ||
		!strings.Contains(setup.Fix, "sbctl migrate up") {
		t.Errorf("got %v, want the migration named", err)
	}
}
