package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/scoreboard/scoreboard/loadgen"
)

// benchAlone lets relay, Kafka, projection and Redis work off a full outbox
// with nothing else running.
func (r *rig) benchAlone(ctx context.Context, of size) error {
	r.stopDaemon()
	r.filled = time.Now().Add(-time.Second)
	if err := r.fillOutbox(ctx, of); err != nil {
		return err
	}
	if err := r.startDaemon(ctx, []string{"SCOREBOARD_RECONCILE_REPAIR=false", "SCOREBOARD_ROLES=relay,projector"}); err != nil {
		return err
	}
	rate, err := r.flow(ctx, "scoreboard_projection_applied_total", float64(of.events))
	if err != nil {
		return err
	}
	fmt.Printf("- relay → Kafka → projection → Redis alone: %.0f events/s (%d events), daemon %d MiB\n", rate, of.events, residentOf(r.daemon.Process.Pid))
	return nil
}

// benchLag takes the time from a commit to Redis from the daemon's own
// histogram, under a fixed rate of writes.
func (r *rig) benchLag(ctx context.Context, _ size) error {
	if _, err := r.open(ctx, lagRate/2, warmTime); err != nil {
		return err
	}
	before, err := r.metric(ctx, "scoreboard_projection_lag_seconds")
	if err != nil {
		return err
	}
	report, err := r.open(ctx, lagRate, besideTime)
	if err != nil {
		return err
	}
	if _, err := r.drain(ctx); err != nil {
		return err
	}
	after, err := r.metric(ctx, "scoreboard_projection_lag_seconds")
	if err != nil {
		return err
	}
	fmt.Printf("- commit → Redis at %.0f writes/s (asked %d): p50 %s, p95 %s, p99 %s, of %d batches\n", report.Rate, lagRate,
		quantileOf(before, after, .5), quantileOf(before, after, .95), quantileOf(before, after, .99),
		after.GetHistogram().GetSampleCount()-before.GetHistogram().GetSampleCount())
	return nil
}

// benchBacklog lets a backlog drain while writes go on, and compares the writes
// with those before.
func (r *rig) benchBacklog(ctx context.Context, of size) error {
	without, err := r.open(ctx, backlogRate, besideTime)
	if err != nil {
		return err
	}
	if _, err := r.drain(ctx); err != nil {
		return err
	}
	type played struct {
		report *loadgen.Report
		err    error
	}
	if err := r.fillOutbox(ctx, of); err != nil {
		return err
	}
	during := make(chan played, 1)
	go func() {
		report, err := r.open(ctx, backlogRate, besideTime)
		during <- played{report, err}
	}()
	// The relay goes by transaction, so the first events are the backlog.
	rate, flowErr := r.flow(ctx, "scoreboard_outbox_published_total", float64(of.events))
	with := <-during
	if flowErr != nil || with.err != nil {
		return fmt.Errorf("drain: %w; write: %w", flowErr, with.err)
	}
	fmt.Printf("- a backlog of %d rows under %d writes/s: drained at %.0f/s; writes %.0f/s p50 %.1f p95 %.1f ms before, %.0f/s p50 %.1f p95 %.1f ms with it\n",
		of.events, backlogRate, rate, without.Rate, without.Latency.P50, without.Latency.P95,
		with.report.Rate, with.report.Latency.P50, with.report.Latency.P95)
	return nil
}

// flow waits until a counter has risen by n, and returns how much it rose a
// second from its first move on.
func (r *rig) flow(ctx context.Context, counter string, n float64) (float64, error) {
	start, err := r.metric(ctx, counter)
	if err != nil {
		return 0, err
	}
	from := start.GetCounter().GetValue()
	if from < n/10 { // just started: nothing was counted before it
		from = 0
	}
	var began time.Time
	at := from
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		m, err := r.metric(ctx, counter)
		if err != nil {
			return 0, err
		}
		now := m.GetCounter().GetValue()
		switch {
		case began.IsZero() && now > from:
			began, at = time.Now(), now
		case now-from >= n:
			return (now - at) / time.Since(began).Seconds(), nil
		}
	}
	return 0, fmt.Errorf("%s has not risen by %.0f within ten minutes", counter, n)
}

// metric reads one metric of the daemon.
func (r *rig) metric(ctx context.Context, name string) (*dto.Metric, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.ops+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		return nil, err
	}
	if f := families[name]; f != nil && len(f.GetMetric()) == 1 {
		return f.GetMetric()[0], nil
	}
	return nil, fmt.Errorf("the daemon has no metric %s", name)
}

// quantileOf is the bound of the bucket that a quantile falls into.
func quantileOf(before, after *dto.Metric, q float64) string {
	total := after.GetHistogram().GetSampleCount() - before.GetHistogram().GetSampleCount()
	for i, b := range after.GetHistogram().GetBucket() {
		n := b.GetCumulativeCount() - before.GetHistogram().GetBucket()[i].GetCumulativeCount()
		if float64(n) >= q*float64(total) && !math.IsInf(b.GetUpperBound(), 1) {
			return "≤ " + time.Duration(b.GetUpperBound()*float64(time.Second)).String()
		}
	}
	return "beyond the last bucket"
}
