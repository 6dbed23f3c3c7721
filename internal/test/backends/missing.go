package backends

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/scoreboard/scoreboard/server/devstack"
)

// ErrMissing is returned when a backend is not installed.
var ErrMissing = devstack.ErrMissing

// require ends the test if a backend did not start: it skips the test if the backend
// is not installed, except in CI.
func require(t testing.TB, backend string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrMissing) && os.Getenv("CI") != "true":
		fmt.Fprintf(os.Stderr, "!!! %s SKIPPED: requires %s: %v\n", t.Name(), backend, err)
		t.Skipf("requires %s: %v", backend, err)
	default:
		t.Fatalf("start %s: %v", backend, err)
	}
}

// Program returns the path of a program that a test runs. If it is not installed, the
// test is skipped, except in CI.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + name) // Debian's servers, often not in PATH
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrMissing, err)
	}
	require(t, name, err)
	return path
}
