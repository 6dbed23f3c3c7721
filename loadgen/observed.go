package loadgen

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/deploy"
)

// families are the metrics that specification A asks for: rates and latencies,
// and the lag of each stage.
var families = []string{"scoreboard_api_request_seconds", "scoreboard_outbox_lag_seconds", "scoreboard_projection_lag_seconds"}

// reach asks before the load what is asked again after it: a wrong address is
// better known then.
func (a *acceptance) reach(ctx context.Context) error {
	r := a.run
	if _, err := scrape(ctx, r.web, r.Ops); err != nil {
		r.Say("there are no metrics: %v; --ops is their address", err)
	}
	if r.Prometheus == "" {
		return nil
	}
	if _, err := healthyAlerts(ctx, r.web, r.Prometheus); err != nil {
		return fmt.Errorf("ask Prometheus for its rules: %w", err)
	}
	return nil
}

// metrics looks for them where the server shows its metrics.
func (a *acceptance) metrics(ctx context.Context) {
	text, err := scrape(ctx, a.run.web, a.run.Ops)
	if err != nil {
		a.run.ending.Notes = append(a.run.ending.Notes, "no metrics: "+err.Error())
		return
	}
	found := 0
	for _, f := range families {
		if strings.Contains(text, "# TYPE "+f+" ") {
			found++
		} else {
			a.run.ending.Notes = append(a.run.ending.Notes, "there is no metric "+f)
		}
	}
	a.run.ending.Measured["metrics.found"] = 100 * float64(found) / float64(len(families))
}

// scrape reads the metrics of a server.
func scrape(ctx context.Context, web *http.Client, ops string) (string, error) {
	b, err := fetch(ctx, web, strings.TrimSuffix(ops, "/")+"/metrics")
	return string(b), err
}

func fetch(ctx context.Context, web *http.Client, url string) ([]byte, error) {
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
		err = fmt.Errorf("%s answers %s", url, res.Status)
	}
	return b, err
}

// alerts asks Prometheus whether it evaluates our rules. Where nobody named one
// the criterion is skipped, and the run cannot pass as a whole: that a file with
// rules exists does not wake anybody.
func (a *acceptance) alerts(ctx context.Context) {
	e := &a.run.ending
	if a.run.Prometheus == "" {
		e.Skipped["alerts.loaded"] = "no Prometheus was named (--prometheus)"
		return
	}
	wanted, err := deploy.Alerts()
	if err != nil {
		e.Notes = append(e.Notes, err.Error())
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
	// A Prometheus that has just begun has not evaluated everything yet.
	for deadline := time.Now().Add(a.run.Settle); ; {
		if healthy, err = healthyAlerts(ctx, a.run.web, a.run.Prometheus); err == nil && len(missing()) == 0 || time.Now().After(deadline) {
			break
		}
		if !pause(ctx, 500*time.Millisecond) {
			return
		}
	}
	if err != nil {
		e.Notes = append(e.Notes, "no alert rules: "+err.Error())
		return
	}
	names := missing()
	e.Measured["alerts.loaded"] = 100 * float64(len(wanted)-len(names)) / float64(len(wanted))
	if len(names) > 0 {
		e.Notes = append(e.Notes, "Prometheus does not evaluate "+strings.Join(names, ", "))
	}
}

// healthyAlerts are the alert rules that a Prometheus evaluates without error.
func healthyAlerts(ctx context.Context, web *http.Client, prometheus string) (map[string]bool, error) {
	b, err := fetch(ctx, web, strings.TrimSuffix(prometheus, "/")+"/api/v1/rules?type=alert")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health string }
			}
		}
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		return nil, fmt.Errorf("read the rules of %s: %w", prometheus, err)
	}
	healthy := map[string]bool{}
	for _, g := range answer.Data.Groups {
		for _, rule := range g.Rules {
			if rule.Health == "ok" {
				healthy[rule.Name] = true
			}
		}
	}
	return healthy, nil
}
