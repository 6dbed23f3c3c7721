package deploy

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestCitusShardsRecordIncrements runs the experiment of docs/citus.md for a moment, where
// Citus is installed: tables are distributed, and add_increments on the shards of three
// workers records what the coordinator then counts.
func TestCitusShardsRecordIncrements(t *testing.T) {
	t.Parallel()
	const bin = "/usr/lib/postgresql/15/bin"
	library, err := exec.CommandContext(t.Context(), filepath.Join(bin, "pg_config"), "--pkglibdir").Output()
	if err == nil {
		_, err = os.Stat(filepath.Join(strings.TrimSpace(string(library)), "citus.so"))
	}
	if err != nil || os.Geteuid() != 0 {
		fmt.Fprintf(os.Stderr, "!!! %s NOT RUN: requires root and Citus 12.1 for PostgreSQL 15: %v\n", t.Name(), err)
		t.Skip("requires root and Citus 12.1 for PostgreSQL 15")
	}
	sbctl := filepath.Join(t.TempDir(), "sbctl")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", sbctl, "../cmd/sbctl")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	bench := exec.CommandContext(t.Context(), "citus/bench.sh", "1")
	bench.Env = append(os.Environ(), "SBCTL="+sbctl, "PORT="+strconv.Itoa(freePorts(t, 4)))
	out, err := bench.CombinedOutput()
	const agreed = "Scores, ledger and outbox of all workers agree; lanes and shards have the same users."
	if err != nil || !strings.Contains(string(out), agreed) {
		t.Fatalf("%v: %s", err, out)
	}
	for _, found := range regexp.MustCompile(`([0-9]+) increments/s`).FindAllStringSubmatch(string(out), -1) {
		if found[1] == "0" {
			t.Errorf("nothing was recorded: %s", out)
		}
	}
	t.Logf("%s", out)
}

// freePorts returns the first of n ports in a row that nothing listens on.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for first := 31_000; first < 32_000; first += n {
		free := true
		for i := range n {
			l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:"+strconv.Itoa(first+i))
			if err != nil {
				free = false
				break
			}
			_ = l.Close()
		}
		if free {
			return first
		}
	}
	t.Fatal("no free ports")
	return 0
}
