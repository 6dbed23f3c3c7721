package grafana_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/deploy/grafana"
	"github.com/scoreboard/scoreboard/internal/test/backends"
)

var update = flag.Bool("update", false, "rewrite the files in dashboards")

func TestDashboardsUpToDate(t *testing.T) {
	t.Parallel()
	all := grafana.Dashboards()
	for i := range all {
		want, err := all[i].Encode()
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join("dashboards", all[i].Name+".json")
		if *update {
			if err := os.WriteFile(at, want, 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(at); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is out of date: go test ./deploy/grafana -update (%v)", at, err)
		}
	}
	files, err := filepath.Glob("dashboards/*.json")
	if err != nil || len(files) != len(all) || len(all) < 5 {
		t.Errorf("got %d files for %d dashboards, %v", len(files), len(all), err)
	}
}

// Prometheus parses every expression: each as a rule that promtool checks.
func TestExpressionsParse(t *testing.T) {
	t.Parallel()
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboards\n  rules:\n")
	n := 0
	for _, d := range grafana.Dashboards() {
		for _, p := range d.Panels {
			for _, l := range p.Lines {
				n++
				expr := strings.ReplaceAll(l.Expr, "$__rate_interval", "1m")
				fmt.Fprintf(&rules, "  - record: panel:%d\n    expr: %q\n", n, expr)
			}
		}
	}
	at := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(at, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool := backends.Program(t, "promtool")
	output, err := exec.CommandContext(t.Context(), promtool, "check", "rules", at).CombinedOutput()
	if err != nil || !strings.Contains(string(output), fmt.Sprintf("%d rules found", n)) {
		t.Errorf("%d expressions: %v:\n%s", n, err, output)
	}
}
