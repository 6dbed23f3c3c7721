package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/deploy"
	"github.com/scoreboard/scoreboard/deploy/grafana"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

func (d *daemon) metrics() (string, error) {
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.ops+"/metrics", http.NoBody)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	return string(b), err
}

// An alert on a metric that is not exported would never fire, and a panel on one is
// empty.
func TestAlertsAndDashboardsUseExportedMetrics(t *testing.T) {
	t.Parallel()
	alerts, err := deploy.Alerts()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, a := range alerts {
		for _, name := range regexp.MustCompile(`scoreboard_[a-z_]+`).FindAllString(a.Expr, -1) {
			names[name] = true
		}
	}
	for _, d := range grafana.Dashboards() {
		for _, p := range d.Panels {
			for _, l := range p.Lines {
				for _, name := range regexp.MustCompile(`(?:scoreboard|process|go)_[a-z_]+`).FindAllString(l.Expr, -1) {
					names[name] = true
				}
			}
		}
	}
	if len(alerts) < 6 || len(names) < 10 {
		t.Fatalf("got %d alerts about %d metrics", len(alerts), len(names))
	}
	h := newHarness(t)
	d := h.start("--roles", "api,intake,relay,projector,gateway,maintenance,mirror", "--mirror-plain-topic", "",
		"--mirror-cloudevents-topic", "", "--mirror-group", backends.Prefix(t)+"mirror",
		"--dialects", "delta")
	c := h.client(d, "server", auth.ScopeUpdate)
	if _, err := c.Submit(t.Context(), client.Increment{User: "alice", Delta: 5, Board: "delta"}); err != nil {
		t.Fatal(err)
	}
	follow, stop := context.WithCancel(t.Context())
	defer stop()
	c.Watch(follow, "", client.WatchOptions{}) // a connection
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		// With a certificate, a replica, teams, a feed, a topic's damage, or after a rejection.
		"scoreboard_tls_certificate_expiry_timestamp_seconds",
		"scoreboard_tls_client_certificate_expiry_timestamp_seconds", "scoreboard_postgres_replica_lag_seconds",
		"scoreboard_mirror_published_total", "scoreboard_mirror_stalled_seconds", "scoreboard_realtime_rejected_total",
		"scoreboard_realtime_closed_total", "scoreboard_realtime_checks_total",
		"scoreboard_replica_behind_seconds", "scoreboard_replica_usable", "scoreboard_teams_age_seconds",
	} {
		if !names[name] || !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("%s is in no alert or dashboard, or no metric", name)
		}
		delete(names, name)
	}
	values := map[string]float64{}
	eventually(t, "all metrics of the alerts", func() error {
		text, err := d.metrics()
		if err != nil {
			return err
		}
		for name := range names {
			m := regexp.MustCompile(`(?m)^` + name + `(?:\{[^\n]*\})? (\S+)$`).FindStringSubmatch(text)
			if m == nil {
				return fmt.Errorf("metric %s is missing", name)
			}
			if values[name], err = strconv.ParseFloat(m[1], 64); err != nil {
				return err
			}
		}
		return nil
	})
	used, limit := values["scoreboard_redis_memory_used_bytes"], values["scoreboard_redis_memory_limit_bytes"]
	if age := values["scoreboard_ranking_age_seconds"]; used < 100_000 || limit <= used || age < 0 || age > 30 {
		t.Errorf("got %v of %v bytes in Redis, and a ranking %v s old", used, limit, age)
	}
	text, err := d.metrics()
	if err != nil {
		t.Fatal(err)
	}
	check := exec.CommandContext(t.Context(), backends.Program(t, "promtool"), "check", "metrics")
	check.Stdin = strings.NewReader(text)
	if output, err := check.CombinedOutput(); err != nil || len(output) > 0 {
		t.Errorf("promtool check metrics: %v:\n%s", err, output)
	}
}

// Each alert has a page of the runbook, and a test of the rules that fires it.
func TestAlertsHavePagesAndTests(t *testing.T) {
	t.Parallel()
	alerts, err := deploy.Alerts()
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile(filepath.Join("..", "..", "deploy", "prometheus", "alerts_test.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range alerts {
		name := strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(a.Name, "$1-$2"))
		// The server has the page; TestEveryPageIsServed shows that it is there.
		if want := "http://localhost:8080/docs/" + name; a.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url is %q, want %q", a.Name, a.Annotations["runbook_url"], want)
		}
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", "runbook", name+".md"))
		if err != nil {
			t.Error(err)
		}
		for _, heading := range []string{"What it means", "Check", "What to do", "It is over when"} {
			if !strings.Contains(string(page), "\n## "+heading+"\n") {
				t.Errorf("%s.md has no section %q", name, heading)
			}
		}
		if !strings.Contains(string(tests), "name: "+a.Name+" fires\n") ||
			!regexp.MustCompile(`eval_time: \d+m, alertname: `+a.Name+`\}`).Match(tests) {
			t.Errorf("no test of the rules shows %s firing, or not firing", a.Name)
		}
	}
}

// Each rule fires on its condition and not before: promtool evaluates the series of
// alerts_test.yml.
func TestAlertsFire(t *testing.T) {
	t.Parallel()
	output, err := exec.CommandContext(t.Context(), backends.Program(t, "promtool"), "test", "rules",
		filepath.Join("..", "..", "deploy", "prometheus", "alerts_test.yml")).CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, output)
	}
}
