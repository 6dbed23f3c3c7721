package main

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A command has a span in the trace that it was given, or begins one, and its requests
// continue it. The span reaches the collector before the command ends.
func TestCommandIsTraced(t *testing.T) {
	t.Parallel()
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Traceparent"))
		if strings.Contains(r.URL.RawQuery, "missing") {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(server.Close)
	var spans []*tracepb.Span
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(body, &request) != nil {
			t.Errorf("not an export of spans: %v", err)
			return
		}
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				spans = append(spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(receiver.Close)
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	given := "TRACEPARENT=00-" + trace + "-" + parent + "-01"
	base := []string{"SBCTL_SERVER=" + server.URL, "SBCTL_TOKEN=t", "SBCTL_PROFILE="}
	for name, c := range map[string]struct {
		environ []string
		args    string
		failed  bool
	}{
		"given":       {[]string{given}, "top", false},
		"begun":       {nil, "top", false},
		"failed":      {[]string{given}, "top --board missing", true},
		"not sampled": {[]string{"TRACEPARENT=00-" + trace + "-" + parent + "-00"}, "top", false},
	} {
		sent, spans = nil, nil
		environ := append(append(base, "OTEL_EXPORTER_OTLP_ENDPOINT="+receiver.URL), c.environ...)
		code := run(t.Context(), strings.Fields(c.args), nil, io.Discard, io.Discard, environ)
		if (code != 0) != c.failed || len(spans) != 1 || len(sent) == 0 {
			t.Fatalf("%s: exit code %d, spans %v, requests %q", name, code, spans, sent)
		}
		s := spans[0]
		id := hex.EncodeToString(s.TraceId)
		if want := "00-" + id + "-" + hex.EncodeToString(s.SpanId) + "-01"; sent[0] != want || s.Name != "sbctl top" {
			t.Errorf("%s: the request has %s, want %s of the span %s", name, sent[0], want, s.Name)
		}
		if len(c.environ) > 0 && (id != trace || hex.EncodeToString(s.ParentSpanId) != parent) {
			t.Errorf("%s: the span is in trace %s", name, id)
		}
		if failed := s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR; failed != c.failed {
			t.Errorf("%s: the span's status is %v", name, s.Status)
		}
	}
	sent = nil
	run(t.Context(), []string{"top"}, nil, io.Discard, io.Discard, append(base, given))
	if want := strings.TrimPrefix(given, "TRACEPARENT="); len(sent) != 1 || sent[0] != want {
		t.Errorf("without a collector: requests %q, want %s", sent, want)
	}
	var errs strings.Builder
	environ := append(base, "OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318")
	if code := run(t.Context(), []string{"top"}, nil, io.Discard, &errs, environ); code != exitUsage ||
		!strings.Contains(errs.String(), "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL") {
		t.Errorf("a wrong collector: exit code %d, %s", code, errs.String())
	}
}
