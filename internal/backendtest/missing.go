package backendtest

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/scoreboard/scoreboard/server/devstack"
)

// ErrMissing is what a start fails with when the backend is not to be had on
// this machine.
var ErrMissing = devstack.ErrMissing

// require ends the test when err is not nil: with a skip when the backend is
// missing and nobody insists on it.
func require(t testing.TB, backend string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrMissing) && os.Getenv("CI") != "true":
		fmt.Fprintf(os.Stderr, "!!! %s SKIPPED, it needs %s: %v\n", t.Name(), backend, err)
		t.Skipf("needs %s: %v", backend, err)
	default:
		t.Fatalf("start %s: %v", backend, err)
	}
}
