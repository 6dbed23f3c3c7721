package tracing

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
)

const (
	id      = "0af7651916cd43dd8448eb211c80319c"
	sampled = "00-" + id + "-b7ad6b7169203331-01"
)

func newTracer(t testing.TB, sample float64) *Tracer {
	t.Helper()
	tracer, err := New(Options{Endpoint: "http://127.0.0.1:1", Sample: sample, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tracer.Close)
	return tracer
}

func TestParseParent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ ok, sampled bool }{
		sampled:                             {true, true},
		sampled[:54] + "0":                  {true, false},
		sampled[:53] + "03":                 {true, true}, // an unknown flag
		sampled[:53] + "fe":                 {true, false},
		"":                                  {},
		sampled + "-":                       {},
		"01" + sampled[2:]:                  {},
		sampled[:53] + "0g":                 {},
		sampled[:53] + "0A":                 {},
		strings.ToUpper(sampled):            {},
		"00-" + id + "-b7ad6b716920333 -01": {},
		"00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01": {},
		"00-" + id + "-0000000000000000-01":                      {},
	} {
		p, ok := ParseParent(text)
		if ok != want.ok || p.Sampled() != want.sampled {
			t.Errorf("%q: got %t, sampled %t, want %+v", text, ok, p.Sampled(), want)
		}
		if got := Sampled(text) != ""; got != want.sampled {
			t.Errorf("Sampled(%q) passes it on: %t", text, got)
		}
	}
}

// What is not sampled stays in the caller's trace, or has one of its own, with a new span
// that nobody is told to record.
func TestUnsampledTraceparent(t *testing.T) {
	t.Parallel()
	caller, _ := ParseParent(sampled)
	got := caller.Unsampled()
	if !strings.HasPrefix(got, sampled[:36]) || got[36:52] == sampled[36:52] || !strings.HasSuffix(got, "-00") {
		t.Errorf("in a caller's trace: %s", got)
	}
	one, two := Parent{}.Unsampled(), Parent{}.Unsampled()
	if _, ok := ParseParent(one); !ok || one[:36] == two[:36] {
		t.Errorf("without a caller: %s, %s", one, two)
	}
	if TraceID(got) != id || TraceID("x") != "" {
		t.Errorf("trace ids %q, %q", TraceID(got), TraceID("x"))
	}
}

// Requests that are not sampled, and all of a process without traces, allocate nothing.
func TestUnsampledAllocatesNothing(t *testing.T) {
	tracer := newTracer(t, 0)
	ctx := context.Background()
	none := func(int) string { return "" }
	for name, tracer := range map[string]*Tracer{"sample 0": tracer, "off": nil} {
		allocated := testing.AllocsPerRun(1000, func() {
			_, root := tracer.Root(ctx, Parent{}, Server, "request")
			_, batch := tracer.ContinueAll(ctx, 500, none, Internal, "batch")
			_, child := batch.Child(ctx, Client, "record")
			_, change := tracer.Continue(ctx, "", Producer, "publish")
			root.End()
			batch.End()
			child.End()
			change.End()
		})
		if allocated != 0 {
			t.Errorf("%s: %v allocations", name, allocated)
		}
	}
}

// The spans of a process are bounded, whatever others say is sampled.
func TestSpansAreBounded(t *testing.T) {
	t.Parallel()
	tracer := newTracer(t, 0)
	made := 0
	for range 3 * spansPerSecond {
		if _, s := tracer.Continue(t.Context(), sampled, Consumer, "apply"); s != nil {
			made++
			s.End()
		}
	}
	if made < spansPerSecond || made == 3*spansPerSecond {
		t.Errorf("%d spans, want about %d", made, spansPerSecond)
	}
}

func TestLogHandlerAddsTheTrace(t *testing.T) {
	t.Parallel()
	tracer := newTracer(t, 1)
	var out bytes.Buffer
	log := slog.New(NewLogHandler(slog.NewTextHandler(&out, nil))).With("shard", 1)
	ctx, span := tracer.Continue(t.Context(), sampled, Internal, "batch")
	defer span.End()
	log.WarnContext(ctx, "in a span")
	log.WarnContext(ctx, "with its own", LogKey, "own")
	log.Warn("outside")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if !strings.HasSuffix(lines[0], `msg="in a span" shard=1 trace_id=`+id) {
		t.Errorf("got %s", lines[0])
	}
	if !strings.HasSuffix(lines[1], "trace_id=own") || strings.Contains(lines[2], LogKey) {
		t.Errorf("got %q", lines[1:])
	}
}

func TestCheckEndpoint(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"http://collector:4318": true, "https://collector/otlp": true, "collector:4318": false, "": false,
		"ftp://collector": false, "http://": false, "http://user:secret@collector": false,
		"http://collector?x=1": false,
	} {
		if err := CheckEndpoint(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// BenchmarkRequest is what tracing adds to a request and its batch, by the share that is
// sampled.
func BenchmarkRequest(b *testing.B) {
	for name, sample := range map[string]float64{"off": -1, "0": 0, "0.01": 0.01, "1": 1} {
		b.Run(name, func(b *testing.B) {
			var tracer *Tracer
			if sample >= 0 {
				tracer = newTracer(b, sample)
			}
			b.ReportAllocs()
			for b.Loop() {
				ctx, root := tracer.Root(b.Context(), Parent{}, Server, "request")
				trace := root.Traceparent()
				if root == nil {
					trace = ""
				}
				_, batch := tracer.ContinueAll(ctx, 1, func(int) string { return trace }, Internal, "batch")
				batch.End()
				root.End()
			}
		})
	}
}
