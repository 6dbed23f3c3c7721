package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
)

func TestMain(m *testing.M) { backends.Main(m) }

// A run of half a minute does everything that one of hours does, except that it is too short to judge
// growth, and finds no difference.
func TestSoak(t *testing.T) {
	t.Parallel()
	if os.Getenv("SCOREBOARD_PROOF") != "1" {
		t.Skip("takes two minutes: SCOREBOARD_PROOF=1 runs it")
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "scoreboardd")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../../cmd/scoreboardd")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the daemon: %v\n%s", err, out)
	}
	r, err := soak(t.Context(), options{duration: 30 * time.Second, rate: 40, players: 50, binary: binary})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.write(dir); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Checks {
		if !c.Passed {
			t.Errorf("%s: %s", c.Name, c.Result)
		}
	}
	if len(r.Checks) < 10 || r.Increments < 500 || len(r.Samples) < 5 {
		t.Errorf("got %d checks, %d increments, %d samples", len(r.Checks), r.Increments, len(r.Samples))
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil || !strings.Contains(string(text), "| archive the ledger | 24 times, want 24 | passed |") {
		t.Errorf("the report has no archives: %v\n%s", err, text)
	}
}

// A series that grows fails, one that varies does not.
func TestGrowthIsJudged(t *testing.T) {
	t.Parallel()
	judged := func(value func(i int) float64) bool {
		r := newReport(options{})
		r.Seconds = 1000
		for i := range 120 {
			values := make([]float64, len(series))
			for s := range values {
				values[s] = 1
			}
			values[0] = value(i)
			r.Samples = append(r.Samples, sample{float64(i) * 1000 / 120, values})
		}
		r.judge()
		return r.Passed
	}
	for name, c := range map[string]struct {
		value  func(i int) float64
		passed bool
	}{
		"flat":                        {func(int) float64 { return 200 }, true},
		"a saw":                       {func(i int) float64 { return 200 + float64(i%10)*5 }, true},
		"growth while warming up":     {func(i int) float64 { return min(float64(i)*10, 300) }, true},
		"a leak of 1 MiB a sample":    {func(i int) float64 { return 200 + float64(i) }, false},
		"small, within its variation": {func(i int) float64 { return 20 + float64(i)/10 }, true},
	} {
		if got := judged(c.value); got != c.passed {
			t.Errorf("%s: passed %v, want %v", name, got, c.passed)
		}
	}
}
