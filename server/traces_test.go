package server_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// spanCollector receives spans by OTLP over HTTP, as an OpenTelemetry collector does.
type spanCollector struct {
	url string

	mu    sync.Mutex
	spans []*tracepb.Span
}

func newSpanCollector(t testing.TB) *spanCollector {
	t.Helper()
	c := &spanCollector{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &request) != nil {
			t.Errorf("%s %s: not an export of spans: %v", r.Method, r.URL, err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

// trace returns the spans of a trace by name.
func (c *spanCollector) trace(id string) map[string]*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := make(map[string]*tracepb.Span)
	for _, s := range c.spans {
		if hex.EncodeToString(s.TraceId) == id {
			found[s.Name] = s
		}
	}
	return found
}

// await returns the spans of a trace once it has all names.
func (c *spanCollector) await(t testing.TB, id string, names []string) map[string]*tracepb.Span {
	t.Helper()
	for end := time.Now().Add(awaitTimeout); ; time.Sleep(10 * time.Millisecond) {
		got := c.trace(id)
		missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return got[name] != nil })
		if len(missing) == 0 {
			return got
		}
		if time.Now().After(end) {
			t.Fatalf("trace %s has no %q; it has %q", id, missing, slices.Sorted(maps.Keys(got)))
		}
	}
}

// count returns how many spans have a name.
func (c *spanCollector) count(name string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.Name == name {
			n++
		}
	}
	return n
}

const incrementRoute = "/v1/scores/increment"

// submitTraced sends an increment, with a traceparent unless that is "", and returns the
// response's.
func (n *node) submitTraced(t testing.TB, user, traceparent string, more ...string) (answered string) {
	t.Helper()
	header := bearer(n.h.token("game", auth.ScopeUpdate, time.Hour))
	if traceparent != "" {
		header.Set("Traceparent", traceparent)
	}
	for i := 0; i < len(more); i += 2 {
		header.Set(more[i], more[i+1])
	}
	body := fmt.Sprintf(`{"user_id":%q,"delta":5,"event_id":"e%d","timestamp":%q}`,
		user, time.Now().UnixNano(), time.Now().UTC().Format(time.RFC3339))
	status, got, answer := request(t, http.MethodPost, n.URL+incrementRoute, body, header)
	if status != http.StatusOK && status != http.StatusAccepted {
		t.Fatalf("status %d: %s", status, answer)
	}
	return got.Get("Traceparent")
}

// watch opens a stream of the board and returns once it has a state.
func (n *node) watch(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	states := n.client("viewer", "").Watch(ctx, "global", client.WatchOptions{})
	for s := range states {
		if s.Connection == client.WebSocket {
			break
		}
	}
	go func() {
		for range states { //nolint:revive // the watcher blocks while nobody reads
		}
	}()
}

// An increment leaves one trace from its request to the frame that shows it, over each
// transport, and from Kafka if it is recorded later. Each span begins in one of the
// trace's others.
func TestTraceReachesTheMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings []string
		header   []string
		want     []string // between the request and the batch
	}{
		"direct":  {settings: []string{"transport", "direct"}},
		"streams": {settings: []string{"transport", "streams"}},
		"kafka":   {settings: []string{"transport", "kafka"}},
		"kafka bus": {
			settings: []string{"realtime-bus", "kafka"},
		},
		"accepted": {
			settings: []string{"ingest-async", "true"}, header: []string{"Prefer", "respond-async"},
			want: []string{"publish increment", "record accepted increment"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, spans := newHarness(t), newSpanCollector(t)
			h.useKafka()
			n := h.start("intake,"+allRoles, append(c.settings, "otlp-endpoint", spans.url, "otlp-sample", "0")...)
			n.submitTraced(t, "bob", "") // a board that is being loaded gets its first changes by a rebuild
			h.ranked(n, "global", "bob", 5)
			n.watch(t)
			const id = "0af7651916cd43dd8448eb211c80319c"
			answered := n.submitTraced(t, "ada-lovelace", "00-"+id+"-b7ad6b7169203331-01", c.header...)
			if !strings.HasPrefix(answered, "00-"+id+"-") || !strings.HasSuffix(answered, "-01") {
				t.Errorf("the response has the traceparent %q", answered)
			}
			path := slices.Concat([]string{"POST " + incrementRoute}, c.want, []string{
				"ingest batch", "record increments", "publish change", "apply change", "apply to ranking",
				"send message",
			})
			got := spans.await(t, id, path)
			if len(got) != len(path) {
				t.Errorf("%d spans, want %d", len(got), len(path))
			}
			parents := map[string]string{
				"record increments": "ingest batch", "apply change": "publish change",
				"apply to ranking": "apply change", "send message": "apply to ranking",
			}
			requested := path[0]
			for _, name := range c.want {
				parents[name], requested = requested, name
			}
			parents["ingest batch"], parents["publish change"] = requested, requested
			for child, parent := range parents {
				if string(got[child].ParentSpanId) != string(got[parent].SpanId) {
					t.Errorf("%q does not begin in %q", child, parent)
				}
			}
			if caller := hex.EncodeToString(got[path[0]].ParentSpanId); caller != "b7ad6b7169203331" {
				t.Errorf("the request begins in span %s, want the caller's", caller)
			}
			if links := got["ingest batch"].Links; len(links) != 1 ||
				string(links[0].SpanId) != string(got[requested].SpanId) {
				t.Errorf("links of the batch: %v", links)
			}
			for _, s := range got {
				if strings.Contains(s.String(), "lovelace") {
					t.Errorf("span %q names the user: %s", s.Name, s)
				}
			}
			if log := n.Log(); !strings.Contains(log, `"trace_id":"`+id+`"`) {
				t.Error("no line of the log has the trace's id")
			}
		})
	}
}

// An increment that is not sampled leaves no trace context in the outbox and in records,
// whatever its client sends.
func TestUnsampledLeavesNothing(t *testing.T) {
	t.Parallel()
	h, spans := newHarness(t), newSpanCollector(t)
	h.settings["transport"] = "streams"
	n := h.start(allRoles, "otlp-endpoint", spans.url, "otlp-sample", "0")
	const id = "0af7651916cd43dd8448eb211c80319c"
	for _, sent := range []string{
		"", "00-" + id + "-b7ad6b7169203331-00", "garbage", "00-" + id + "-b7ad6b7169203331-0",
		"ff-" + id + "-b7ad6b7169203331-01", "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01",
		"00-" + strings.ToUpper(id) + "-b7ad6b7169203331-01", "00-" + id + "-0000000000000000-01",
		"00-" + id + "-b7ad6b7169203331-01-more",
	} {
		answered := n.submitTraced(t, "ada", sent, "Tracestate", "vendor=1", "Baggage", "k=v")
		if len(answered) != 55 || !strings.HasSuffix(answered, "-00") {
			t.Errorf("%q is answered with %q", sent, answered)
		}
	}
	h.ranked(n, "global", "ada", 45)
	if got := h.tracedRows(t); got != 0 {
		t.Errorf("%d rows of the outbox have a trace context", got)
	}
	if got := h.tracedEntries(t); got != 0 {
		t.Errorf("%d entries have a trace context", got)
	}
	// The checks find what a sampled increment leaves.
	n.submitTraced(t, "ada", "00-"+id+"-b7ad6b7169203331-01", "Tracestate", "vendor=1")
	h.ranked(n, "global", "ada", 50)
	if rows, entries := h.tracedRows(t), h.tracedEntries(t); rows != 1 || entries != 1 {
		t.Errorf("a sampled increment left %d rows and %d entries with a trace context, want 1", rows, entries)
	}
	h.await("the span of the request", func() bool { return spans.count("POST "+incrementRoute) == 1 })
}

func (h *harness) tracedRows(t testing.TB) (n int) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), h.postgres)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(context.WithoutCancel(t.Context())) }()
	err = db.QueryRow(t.Context(), "select count(*) from outbox_score_updates where trace is not null").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// tracedEntries counts the entries of the streams that have the field traceparent.
func (h *harness) tracedEntries(t testing.TB) (n int) {
	t.Helper()
	o, err := redis.ParseURL(h.redis.URL)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(o)
	defer func() { _ = rdb.Close() }()
	keys, err := rdb.Keys(t.Context(), "{sb:stream}:[0-9]").Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("streams: %q, %v", keys, err)
	}
	for _, key := range keys {
		entries, err := rdb.XRange(t.Context(), key, "-", "+").Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Values["traceparent"] != nil {
				n++
			}
		}
	}
	return n
}

// Clients can force few traces, and neither their flag nor the trace's id counts for the
// others.
func TestForcedTracesAreBounded(t *testing.T) {
	t.Parallel()
	h, spans := newHarness(t), newSpanCollector(t)
	n := h.start(allRoles, "otlp-endpoint", spans.url, "otlp-sample", "0")
	const requests, perSecond = 300, 10
	began, forced := time.Now(), 0
	for range requests {
		_, header, _ := request(t, http.MethodGet, n.URL+"/v1/leaderboard/top", "",
			http.Header{"Traceparent": {"00-0000000000000000000000000000000a-b7ad6b7169203331-01"}})
		if strings.HasSuffix(header.Get("Traceparent"), "-01") {
			forced++
		}
	}
	if bound := perSecond*int(time.Since(began).Seconds()+2) + perSecond; forced < perSecond || forced > bound {
		t.Errorf("%d of %d requests were traced, want %d to %d", forced, requests, perSecond, bound)
	}
	if forced == requests {
		t.Error("every request was traced")
	}
	n.stop() // exports what is queued
	if got := spans.count("GET /v1/leaderboard/top"); got != forced {
		t.Errorf("the collector has %d requests, want %d", got, forced)
	}
}

// With a sample of 1 every request is traced, also without a traceparent, and an error of
// the server is one in the span.
func TestSampleTracesAll(t *testing.T) {
	t.Parallel()
	h, spans := newHarness(t), newSpanCollector(t)
	n := h.start(allRoles, "otlp-endpoint", spans.url, "otlp-sample", "1")
	for range 20 {
		if answered := n.submitTraced(t, "ada", ""); !strings.HasSuffix(answered, "-01") {
			t.Errorf("not sampled: %s", answered)
		}
	}
	h.ranked(n, "global", "ada", 100)
	n.stop()
	for _, name := range []string{"POST " + incrementRoute, "publish change", "apply change"} {
		if got := spans.count(name); got != 20 {
			t.Errorf("%d spans %q, want 20", got, name)
		}
	}
}

// A collector that does not answer costs neither requests nor the end of the process.
func TestDeadCollectorCostsNothing(t *testing.T) {
	t.Parallel()
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the client has left
		<-r.Context().Done()
	}))
	t.Cleanup(hangs.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, url := range map[string]string{"hangs": hangs.URL, "closed": closed.URL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			n := h.start(allRoles, "otlp-endpoint", url, "otlp-sample", "1")
			began := time.Now()
			for range 20 {
				n.submitTraced(t, "ada", "")
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("20 increments took %s", took)
			}
			h.ranked(n, "global", "ada", 100)
			h.await("the warning", func() bool { return strings.Contains(n.Log(), "spans not exported") })
			began = time.Now()
			n.stop()
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("the node stopped after %s", took)
			}
			if got := strings.Count(n.Log(), "spans not exported"); got != 1 {
				t.Errorf("%d warnings, want 1", got)
			}
		})
	}
}

// An error of a request is logged with the trace's id, also if the request is not sampled.
func TestLogHasTheTraceID(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	const id = "0af7651916cd43dd8448eb211c80319c"
	n.submitTraced(t, "ada", "00-"+id+"-b7ad6b7169203331-01")
	found := false
	for line := range strings.Lines(n.Log()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil && fields["msg"] == "request" && fields["trace_id"] == id {
			found = true
		}
	}
	if !found {
		t.Errorf("no request with the trace's id in the log:\n%s", n.Log())
	}
}
