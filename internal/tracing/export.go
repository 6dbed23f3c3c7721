package tracing

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// What happens to a span, as the label of the metric.
const (
	spanEnded    = "ended"
	spanExported = "exported"
	spanFailed   = "failed"
	spanLimited  = "limited"
)

type metrics struct{ spans *prometheus.CounterVec }

func newMetrics() *metrics {
	m := &metrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "scoreboard_trace_spans_total",
		Help: "Spans by what happened to them: ended, exported, failed (the collector did not take them), limited " +
			"(not made, because there were too many in a second). Ended ones that are neither exported nor failed " +
			"wait, or were dropped because the queue was full.",
	}, []string{"result"})}
	for _, result := range []string{spanEnded, spanExported, spanFailed, spanLimited} {
		m.spans.WithLabelValues(result)
	}
	return m
}

func (m *metrics) collectors() []prometheus.Collector { return []prometheus.Collector{m.spans} }

// counting counts the spans that reach the queue, which drops what it has no room for.
type counting struct {
	sdktrace.SpanProcessor
	metrics *metrics
}

func (c counting) OnEnd(s sdktrace.ReadOnlySpan) {
	c.metrics.spans.WithLabelValues(spanEnded).Inc()
	c.SpanProcessor.OnEnd(s)
}

// warnInterval is the shortest interval between two warnings about lost spans.
const warnInterval = time.Minute

// reporting counts and logs failed exports, which the SDK would hand to a global handler.
type reporting struct {
	sdktrace.SpanExporter
	metrics *metrics
	log     *slog.Logger

	mu     sync.Mutex
	warned time.Time
}

func (r *reporting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		r.metrics.spans.WithLabelValues(spanExported).Add(float64(len(spans)))
		return nil
	}
	r.metrics.spans.WithLabelValues(spanFailed).Add(float64(len(spans)))
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.warned) >= warnInterval {
		r.warned = time.Now()
		r.log.Warn("spans not exported; check otlp.endpoint and the collector", "count", len(spans), "err", err)
	}
	return nil
}
