//go:build unix

package bulk_test

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A run ends when it cannot write its result file, because it could not be resumed.
// A file size limit simulates a full disk. It applies to the whole process, so the
// test runs in a child process.
func TestFullDiskEndsRun(t *testing.T) {
	path := os.Getenv("BULK_TEST_FULL")
	if path == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFullDiskEndsRun$")
		child.Env = append(os.Environ(), "BULK_TEST_FULL="+filepath.Join(t.TempDir(), "results"))
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 4 << 10, Max: 4 << 10}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	tally, _, err := submit(t, t.Context(), newLedger(), lines(100_000), path)
	if err == nil || !strings.Contains(err.Error(), "write the result file") || tally.Done > 50_000 {
		t.Errorf("got %+v, %v, want the run ended by the result file", tally, err)
	}
}
