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

// projectBacklogs drains four backlogs one after the other, since the broker compiles during the first.
func (r pipelineBench) projectBacklogs(ctx context.Context, size pipelineSize) error {
	for range 4 {
		if err := r.projectBacklog(ctx, size); err != nil {
			return err
		}
	}
	return nil
}

// projectBacklog measures relay, Kafka, projection and Redis on a full outbox,
// without any other load.
func (r pipelineBench) projectBacklog(ctx context.Context, size pipelineSize) error {
	r.stopDaemon()
	r.filled = time.Now().Add(-time.Second)
	if err := r.fillOutbox(ctx, size); err != nil {
		return err
	}
	settings := []string{"SCOREBOARD_RECONCILE_REPAIR=false", "SCOREBOARD_ROLES=relay,projector"}
	if err := r.startDaemon(ctx, settings); err != nil {
		return err
	}
	rate, err := r.flow(ctx, "scoreboard_projection_applied_total", 0, float64(size.events))
	if err != nil {
		return err
	}
	r.printf("- relay → Kafka → projection → Redis alone: %.0f events/s (%d events), daemon %d MiB\n",
		rate, size.events, residentOf(r.daemon.Process.Pid))
	return nil
}

// projectionLag reads the time from commit to Redis from the daemon's histogram,
// under a fixed rate of writes.
func (r pipelineBench) projectionLag(ctx context.Context, _ pipelineSize) error {
	if err := r.warmByPosts(ctx); err != nil {
		return err
	}
	before, err := r.metric(ctx, "scoreboard_projection_lag_seconds")
	if err != nil {
		return err
	}
	report, err := r.load(ctx, r.lagRate, r.parallel)
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
	r.printf(
		"- commit → Redis at %.0f writes/s (target %d): p50 %s, p95 %s, p99 %s, of %d batches\n",
		report.Rate, r.lagRate, quantileOf(before, after, .5), quantileOf(before, after, .95),
		quantileOf(before, after, .99),
		after.GetHistogram().GetSampleCount()-before.GetHistogram().GetSampleCount(),
	)
	return nil
}

// drainUnderLoad drains a backlog during writes, and compares them with writes
// without a backlog.
func (r pipelineBench) drainUnderLoad(ctx context.Context, size pipelineSize) error {
	without, err := r.load(ctx, r.backlogRate, r.parallel)
	if err != nil {
		return err
	}
	if _, err := r.drain(ctx); err != nil {
		return err
	}
	type loadResult struct {
		report *loadgen.Report
		err    error
	}
	published, err := r.metric(ctx, "scoreboard_outbox_published_total")
	if err != nil {
		return err
	}
	if err := r.fillOutbox(ctx, size); err != nil {
		return err
	}
	during := make(chan loadResult, 1)
	go func() {
		report, err := r.load(ctx, r.backlogRate, r.parallel)
		during <- loadResult{report, err}
	}()
	// The relay goes in the order of transactions, so the first events are the backlog.
	rate, flowErr := r.flow(ctx, "scoreboard_outbox_published_total", published.GetCounter().GetValue(),
		float64(size.events))
	with := <-during
	if flowErr != nil || with.err != nil {
		return fmt.Errorf("drain: %w; write: %w", flowErr, with.err)
	}
	r.printf("- a backlog of %d rows under %d writes/s: drained at %.0f/s; "+
		"writes %.0f/s p50 %.1f p95 %.1f ms before, %.0f/s p50 %.1f p95 %.1f ms with it\n",
		size.events, r.backlogRate, rate, without.Rate, without.Latency.P50, without.Latency.P95,
		with.report.Rate, with.report.Latency.P50, with.report.Latency.P95)
	return nil
}

// flow waits until a counter has increased by n since it was from, and returns its rate per second
// since the first increase.
func (r pipelineBench) flow(ctx context.Context, counter string, from, n float64) (float64, error) {
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
	return 0, fmt.Errorf("%s has not increased by %.0f within ten minutes", counter, n)
}

// metric reads one metric of the daemon.
func (r pipelineBench) metric(ctx context.Context, name string) (*dto.Metric, error) {
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

// quantileOf is the upper bound of the bucket that contains a quantile.
func quantileOf(before, after *dto.Metric, q float64) string {
	total := after.GetHistogram().GetSampleCount() - before.GetHistogram().GetSampleCount()
	for i, b := range after.GetHistogram().GetBucket() {
		n := b.GetCumulativeCount() - before.GetHistogram().GetBucket()[i].GetCumulativeCount()
		if float64(n) >= q*float64(total) && !math.IsInf(b.GetUpperBound(), 1) {
			return "≤ " + time.Duration(b.GetUpperBound()*float64(time.Second)).String()
		}
	}
	return "above the last bucket"
}
