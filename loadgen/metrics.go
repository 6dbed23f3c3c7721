package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/deploy"
	"github.com/scoreboard/scoreboard/internal/retry"
)

// families are the histograms that specification A requires: rates and latencies,
// and the lag of each stage. Load must increase each.
var families = []string{
	"scoreboard_api_request_seconds", "scoreboard_outbox_lag_seconds", "scoreboard_projection_lag_seconds",
}

// checkAddresses reports wrong addresses of metrics and Prometheus before the
// load, because they are needed after it.
func (a *acceptance) checkAddresses(ctx context.Context) error {
	r := a.run
	var err error
	if a.scraped, err = scrape(ctx, r.web, r.Ops); err != nil {
		r.Say("cannot read metrics: %v; set their address with --ops", err)
	}
	if r.Prometheus == "" {
		return nil
	}
	if _, err := healthyAlerts(ctx, r.web, r.Prometheus); err != nil {
		return fmt.Errorf("read the rules of Prometheus: %w", err)
	}
	return nil
}

// metrics checks that the server exposes the required metrics, and that they measure the load: a rate
// and a percentile need counts that grow, and buckets.
func (a *acceptance) metrics(ctx context.Context) {
	text, err := scrape(ctx, a.run.web, a.run.Ops)
	if err != nil {
		a.run.note("cannot read metrics: %v", err)
		return
	}
	found := 0
	for _, f := range families {
		grown := sumMetric(text, f+"_count") - sumMetric(a.scraped, f+"_count")
		switch {
		case !strings.Contains(text, "# TYPE "+f+" histogram"):
			a.run.note("the server has no metric %s", f)
		case sumMetric(text, f+"_bucket") == 0:
			a.run.note("the metric %s has no buckets, so no percentile", f)
		case grown <= 0:
			a.run.note("the metric %s did not count the load", f)
		default:
			found++
		}
	}
	a.run.ending.Measured["metrics.found"] = 100 * float64(found) / float64(len(families))
}

// scrape reads the metrics of a server.
func scrape(ctx context.Context, web *http.Client, ops string) (string, error) {
	b, err := get(ctx, web, strings.TrimSuffix(ops, "/")+"/metrics")
	return string(b), err
}

// sumMetric adds up a metric over its labels.
func sumMetric(text, metric string) (sum int64) {
	for line := range bytes.Lines([]byte(text)) {
		rest, found := bytes.CutPrefix(line, []byte(metric))
		if !found || len(rest) == 0 || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		fields := bytes.Fields(rest)
		if v, err := strconv.ParseFloat(string(fields[len(fields)-1]), 64); err == nil {
			sum += int64(v)
		}
	}
	return sum
}

func get(ctx context.Context, web *http.Client, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := web.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s responded with %s", url, res.Status)
	}
	return b, err
}

// alerts checks that Prometheus evaluates the alert rules. Without a Prometheus
// the criterion is skipped, and the run cannot pass as a whole: rule files alone do
// not raise alerts.
func (a *acceptance) alerts(ctx context.Context) {
	r := a.run
	if r.Prometheus == "" {
		r.ending.Skipped["alerts.loaded"] = "no Prometheus was given (--prometheus)"
		return
	}
	wanted, err := deploy.Alerts()
	if err != nil {
		r.note("%v", err)
		return
	}
	var healthy map[string]bool
	missing := func() (names []string) {
		for _, w := range wanted {
			if !healthy[w.Name] {
				names = append(names, w.Name)
			}
		}
		return names
	}
	// A Prometheus that has just started has not evaluated all rules yet.
	for deadline := time.Now().Add(r.Settle); ; {
		healthy, err = healthyAlerts(ctx, r.web, r.Prometheus)
		if err == nil && len(missing()) == 0 || time.Now().After(deadline) {
			break
		}
		if !retry.Sleep(ctx, 500*time.Millisecond) {
			return
		}
	}
	if err != nil {
		r.note("cannot read the alert rules: %v", err)
		return
	}
	names := missing()
	r.ending.Measured["alerts.loaded"] = 100 * float64(len(wanted)-len(names)) / float64(len(wanted))
	if len(names) > 0 {
		r.note("Prometheus does not evaluate %s", strings.Join(names, ", "))
	}
}

// healthyAlerts are the alert rules that a Prometheus evaluates without errors.
func healthyAlerts(ctx context.Context, web *http.Client, prometheus string) (map[string]bool, error) {
	b, err := get(ctx, web, strings.TrimSuffix(prometheus, "/")+"/api/v1/rules?type=alert")
	if err != nil {
		return nil, err
	}
	var rules struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health string }
			}
		}
	}
	if err := json.Unmarshal(b, &rules); err != nil {
		return nil, fmt.Errorf("parse the rules of %s: %w", prometheus, err)
	}
	healthy := map[string]bool{}
	for _, g := range rules.Data.Groups {
		for _, rule := range g.Rules {
			if rule.Health == "ok" {
				healthy[rule.Name] = true
			}
		}
	}
	return healthy, nil
}
