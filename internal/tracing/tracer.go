package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
)

// Options are the settings of a tracer.
type Options struct {
	Endpoint string  // base URL of the collector; /v1/traces is appended
	Sample   float64 // share of requests that are sampled, 0 to 1
	// Service, Version and Instance name this process in its spans.
	Service, Version, Instance string
	Log                        *slog.Logger
}

const (
	// forcedPerSecond is how many requests a second clients may force to be sampled.
	forcedPerSecond = 10
	// spansPerSecond bounds the spans of this process, because parents come from other
	// processes, of which one may have another share. It is about what the queue holds
	// between two exports.
	spansPerSecond = 2000

	queueSize     = 2048
	batchSize     = 512
	batchDelay    = time.Second
	exportTimeout = 5 * time.Second
	closeTimeout  = 3 * time.Second
	maxLinks      = 32 // of a batch, to the requests in it
)

// Tracer makes the spans of this process. nil makes none.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	sample   float64
	forced   *rate.Limiter
	spans    *rate.Limiter
	metrics  *metrics
	closing  sync.Once
}

// New returns a tracer, which connects when it exports its first spans.
func New(o Options) (*Tracer, error) {
	if err := CheckEndpoint(o.Endpoint); err != nil {
		return nil, fmt.Errorf("endpoint of traces: %w", err)
	}
	exporter, err := otlptracehttp.New(context.Background(),
		otlptracehttp.WithEndpointURL(strings.TrimSuffix(o.Endpoint, "/")+"/v1/traces"),
		otlptracehttp.WithTimeout(exportTimeout),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: 250 * time.Millisecond, MaxInterval: time.Second,
			MaxElapsedTime: exportTimeout,
		}))
	if err != nil {
		return nil, fmt.Errorf("make the exporter of spans: %w", err)
	}
	m := newMetrics()
	queue := sdktrace.NewBatchSpanProcessor(&reporting{SpanExporter: exporter, metrics: m, log: o.Log},
		sdktrace.WithMaxQueueSize(queueSize), sdktrace.WithMaxExportBatchSize(batchSize),
		sdktrace.WithBatchTimeout(batchDelay), sdktrace.WithExportTimeout(exportTimeout))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(counting{queue, m}),
		sdktrace.WithSampler(sdktrace.AlwaysSample()), // what is not sampled makes no span
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", o.Service), attribute.String("service.version", o.Version),
			attribute.String("service.instance.id", o.Instance))),
		sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{
			AttributeValueLengthLimit: 256, AttributeCountLimit: 32, EventCountLimit: 8, LinkCountLimit: 2 * maxLinks,
			AttributePerEventCountLimit: 8, AttributePerLinkCountLimit: 8,
		}))
	return &Tracer{
		provider: provider, tracer: provider.Tracer("github.com/scoreboard/scoreboard"), sample: o.Sample,
		forced: rate.NewLimiter(forcedPerSecond, forcedPerSecond),
		spans:  rate.NewLimiter(spansPerSecond, spansPerSecond), metrics: m,
	}, nil
}

// CheckEndpoint checks the base URL of a collector. The error completes a sentence that
// begins with a setting's name.
func CheckEndpoint(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return errors.New("must be a URL such as http://collector:4318, without a user or a query")
	}
	return nil
}

// Run closes the tracer when ctx has ended.
func (t *Tracer) Run(ctx context.Context) error {
	<-ctx.Done()
	t.Close()
	return nil
}

// Close exports the spans in the queue, for three seconds at most, and stops. Calls after
// the first do nothing.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	t.closing.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		_ = t.provider.Shutdown(ctx) // the exporter has reported why spans were lost
	})
}

// Collectors returns the metrics, for registration.
func (t *Tracer) Collectors() []prometheus.Collector { return t.metrics.collectors() }

// Root begins a trace if it is sampled, or the part of a caller's trace that takes place
// here. Otherwise the span is nil. The caller's sampled flag counts for a few requests a
// second only; the share of the others is drawn here, not computed from the trace's id,
// which the caller chooses, too.
func (t *Tracer) Root(ctx context.Context, caller Parent, kind Kind, name string) (context.Context, *Span) {
	if t == nil || !t.decide(caller.Sampled()) {
		return ctx, nil
	}
	if caller.context.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, caller.context)
	}
	return t.start(ctx, kind, name)
}

func (t *Tracer) decide(forced bool) bool {
	return forced && t.forced.Allow() || t.sample > 0 && rand.Float64() < t.sample
}

// Continue begins a span in the trace of a traceparent that another component has
// written. It is nil if the text is empty, malformed or not sampled.
func (t *Tracer) Continue(ctx context.Context, traceparent string, kind Kind, name string) (context.Context, *Span) {
	p, ok := t.parse(traceparent)
	if !ok {
		return ctx, nil
	}
	return t.start(trace.ContextWithRemoteSpanContext(ctx, p.context), kind, name)
}

// ContinueSince is Continue for a span that began earlier.
func (t *Tracer) ContinueSince(
	ctx context.Context, traceparent string, kind Kind, name string, began time.Time,
) (context.Context, *Span) {
	p, ok := t.parse(traceparent)
	if !ok {
		return ctx, nil
	}
	return t.start(trace.ContextWithRemoteSpanContext(ctx, p.context), kind, name, trace.WithTimestamp(began))
}

// ContinueAll begins one span for work on a batch: in the trace of the first traceparent
// that is sampled, with links to the others. Empty ones are skipped. traceparent returns
// that of item i.
func (t *Tracer) ContinueAll(
	ctx context.Context, n int, traceparent func(i int) string, kind Kind, name string,
) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	var first Parent
	var links []trace.Link
	for i := range n {
		p, ok := t.parse(traceparent(i))
		switch {
		case !ok:
			continue
		case !first.context.IsValid():
			first = p
		}
		if links = append(links, trace.Link{SpanContext: p.context}); len(links) == maxLinks {
			break
		}
	}
	if len(links) == 0 {
		return ctx, nil
	}
	return t.start(trace.ContextWithRemoteSpanContext(ctx, first.context), kind, name, trace.WithLinks(links...))
}

func (t *Tracer) parse(traceparent string) (p Parent, ok bool) {
	if t == nil || traceparent == "" {
		return p, false
	}
	p, ok = ParseParent(traceparent)
	return p, ok && p.Sampled()
}

func (t *Tracer) start(
	ctx context.Context, kind Kind, name string, o ...trace.SpanStartOption,
) (context.Context, *Span) {
	if !t.spans.Allow() {
		t.metrics.spans.WithLabelValues(spanLimited).Inc()
		return trace.ContextWithSpanContext(ctx, trace.SpanContext{}), nil
	}
	ctx, span := t.tracer.Start(ctx, name, append(o, trace.WithSpanKind(trace.SpanKind(kind)))...)
	return ctx, &Span{span, t}
}
