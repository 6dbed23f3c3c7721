package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/internal/test/backends"
)

// Every bench runs with tiny sizes, on real backends that they share. Without
// SCOREBOARD_PROOF=1 only one of each kind does: start-up, writes, the acceptance
// criteria, and boards in partitions.
//
// Not parallel: it changes the working directory, and benches measure time.
func TestBenchesRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts PostgreSQL, Redis and Apache Kafka")
	}
	t.Chdir(filepath.Join("..", "..", ".."))
	dir := t.TempDir()
	for name, pkg := range map[string]string{
		"scorebench": "./internal/test/bench", "scoreboardd": "./cmd/scoreboardd", "sbctl": "./cmd/sbctl",
	} {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, name), pkg)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
	}
	shared, err := StartBackends(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(shared.Stop)
	names := []string{"latency", "ingest", "accept", "partitions"}
	if os.Getenv("SCOREBOARD_PROOF") == "1" {
		names = []string{"realtime all"}
		for _, b := range benchmarks {
			if b.name != "read" {
				names = append(names, b.name)
			}
		}
		names = append(names, "read") // the last, because it stops Redis
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			var stderr backends.Buffer // of several child processes
			p := &program{in: strings.NewReader(""), options: Options{
				Out: &out, Err: &stderr, Self: filepath.Join(dir, "scorebench"), Backends: shared,
			}}
			root := p.root()
			root.SetArgs(append(strings.Fields(name), "--quick", "--bin", dir))
			if err := root.ExecuteContext(t.Context()); err != nil {
				t.Fatalf("%v\n%s\n%s", err, out.String(), stderr.String())
			}
			if strings.Contains(out.String(), "NaN") {
				t.Errorf("got:\n%s", out.String())
			}
		})
	}
}

func TestHelpHasExamples(t *testing.T) {
	t.Parallel()
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if len(cmd.Commands()) == 0 && !cmd.Hidden && !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for _, c := range cmd.Commands() {
			check(c)
		}
	}
	check((&program{}).root())
}
