package grafana_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
				expr := grafana.OfInstance(l.Expr)
				expr = strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*").Replace(expr)
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

// Every metric of ours in a panel, an annotation and an alert rule exists.
func TestMetricsExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	alerts, err := os.ReadFile("../prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{string(alerts)}
	for _, d := range grafana.Dashboards() {
		encoded, err := d.Encode() // with its annotations
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(encoded))
		for _, p := range d.Panels {
			for _, l := range p.Lines {
				texts = append(texts, l.Expr)
			}
		}
	}
	recorded := regexp.MustCompile(`record: (\S+)`).FindAllStringSubmatch(string(alerts), -1)
	found := 0
	for _, name := range regexp.MustCompile(`\bscoreboard_[a-z0-9_]+`).FindAllString(strings.Join(texts, "\n"), -1) {
		base := name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			base = strings.TrimSuffix(base, suffix)
		}
		known := strings.Contains(string(page), "`"+name+"`") || strings.Contains(string(page), "`"+base+"`") ||
			slices.ContainsFunc(recorded, func(r []string) bool { return r[1] == name })
		if !known {
			t.Errorf("%s is no metric", name)
		}
		found++
	}
	if found < 100 {
		t.Errorf("found %d names, want those of all panels and rules", found)
	}
}

// The first row answers whether it is well, and every panel follows the choice of instances.
func TestFirstRowAndInstances(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`sum(rate(scoreboard_a_total[1m]))`:       `sum(rate(scoreboard_a_total{instance=~"$instance"}[1m]))`,
		`max by (kind) (scoreboard_b{state="x"})`: `max by (kind) (scoreboard_b{instance=~"$instance", state="x"})`,
		`count(up{job="scoreboardd"} == 0)`:       `count(up{instance=~"$instance", job="scoreboardd"} == 0)`,
		`vector(0) or go_goroutines / process_open_fds`: `vector(0) or go_goroutines{instance=~"$instance"} / ` +
			`process_open_fds{instance=~"$instance"}`,
	} {
		if got := grafana.OfInstance(expr); got != want {
			t.Errorf("%s: got %s, want %s", expr, got, want)
		}
	}
	for _, d := range grafana.Dashboards() {
		figures, graphs := 0, 0
		for _, p := range d.Panels {
			switch {
			case p.Limit == nil:
				graphs++
			case graphs > 0:
				t.Errorf("%s: the figure %s is not in the first row", d.Name, p.Title)
			default:
				figures++
			}
		}
		if d.Name == "scoreboard-overview" && figures < 4 || figures > 0 && 24%figures != 0 {
			t.Errorf("%s has %d figures", d.Name, figures)
		}
	}
}
