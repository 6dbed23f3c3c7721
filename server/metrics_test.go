package server_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/asynclog"
	"github.com/scoreboard/scoreboard/internal/metric"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/server"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/health"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

var update = flag.Bool("update", false, "rewrite docs/metrics.md")

// metricsPage is written by hand up to the mark; below it are the tables of the metrics.
const (
	metricsPage = "../docs/metrics.md"
	metricsMark = "<!-- Below: every metric, written by go test ./server -run MetricsPage -update. -->\n"
)

// metricGroups are the headings, by the second part of the metrics' names.
var metricGroups = []struct{ title, prefixes string }{
	{"Process", "build ready backend tls settings clock log"},
	{"Requests", "api limit"},
	{"Writes", "ingest ledger anomalies intake"},
	{"Outbox and transport", "outbox broker notices announce"},
	{"Projection and rankings", "projection ranking repair reconcile standings checkpoint teams"},
	{"Reads", "leaderboard privacy replica"},
	{"Realtime", "realtime"},
	{"Feeds", "mirror"},
	{"PostgreSQL", "postgres"},
	{"Redis", "redis"},
	{"Background work", "job rollover rewards leagues archive audit moderation webhook"},
	{"Traces", "trace"},
}

// described is what a collector says about a metric.
type described struct{ name, kind, help, labels string }

func TestMetricsPage(t *testing.T) {
	t.Parallel()
	all := metricsOf(t)
	groups := make([]bytes.Buffer, len(metricGroups))
	for _, m := range all {
		part := strings.Split(m.name, "_")[1]
		i := slices.IndexFunc(metricGroups, func(g struct{ title, prefixes string }) bool {
			return slices.Contains(strings.Fields(g.prefixes), part)
		})
		if i < 0 {
			t.Fatalf("%s has no heading", m.name)
		}
		if !strings.HasSuffix(m.help, ".") {
			t.Errorf("%s: the help %q is no sentence", m.name, m.help)
		}
		labels := "-"
		if m.labels != "" {
			labels = "`" + strings.ReplaceAll(m.labels, ",", "`, `") + "`"
		}
		fmt.Fprintf(&groups[i], "| `%s` | %s | %s | %s |\n", m.name, m.kind, labels, m.help)
	}
	var want bytes.Buffer
	for i, g := range metricGroups {
		fmt.Fprintf(&want, "\n## %s\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n%s",
			g.title, &groups[i])
	}
	page, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	head, tables, found := strings.Cut(string(page), metricsMark)
	if !found {
		t.Fatalf("%s has no line %q", metricsPage, metricsMark)
	}
	if *update {
		if err := os.WriteFile(metricsPage, []byte(head+metricsMark+want.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if tables != want.String() {
		t.Errorf("%s is out of date: go test ./server -run MetricsPage -update", metricsPage)
	}
}

// metricsOf returns the metrics of a process with every role and part, by name. The
// backends are never reached.
func metricsOf(t *testing.T) []described {
	t.Helper()
	dir := t.TempDir()
	pair := fixtures.IssueCertificate(t, "scoreboard", nil)
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	fixtures.WriteCertificate(t, cert, pair.CertPEM)
	fixtures.WriteCertificate(t, key, pair.KeyPEM)
	flags := map[string]string{
		"postgres-url": "postgres://127.0.0.1:1/scoreboard", "redis-url": "redis://127.0.0.1:1",
		"postgres-replica-url": "postgres://127.0.0.1:1/scoreboard", "redis-replica-url": "redis://127.0.0.1:1",
		"kafka-brokers": "127.0.0.1:1", "auth-jwt-secret": jwtSecret,
		"auth-master-key": "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
		"roles":           "api,read,intake,relay,projector,gateway,maintenance,mirror",
		"tls-cert":        cert, "tls-key": key, "ledger-archive": dir, "dialects": "highscore,delta,module,plain",
		"otlp-endpoint": "http://127.0.0.1:1", "postgres-tls-cert": cert, "postgres-tls-key": key,
	}
	lookup := func(name string) (string, bool) { v, ok := flags[name]; return v, ok }
	loaded, _, err := config.Load(lookup, func(string) (string, bool) { return "", false }, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(t.Context(), loaded, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	logs := asynclog.New(io.Discard) // as the command does
	defer logs.Close(0)
	s.Register(logs.Collectors()...)
	form := regexp.MustCompile(`(?s)fqName: "([^"]*)", help: "(.*)", unit: "[^"]*", constLabels: \{(.*)\}, ` +
		`variableLabels: \{([^}]*)\}`)
	constant := regexp.MustCompile(`(\w+)="`)
	known := map[string]described{}
	for _, c := range s.Measured() {
		descs := make(chan *prometheus.Desc, 200)
		c.Describe(descs)
		close(descs)
		kinds := kindsOf(t, c)
		for d := range descs {
			m := form.FindStringSubmatch(d.String())
			if m == nil {
				t.Fatalf("%s has an unknown form", d)
			}
			if !strings.HasPrefix(m[1], "scoreboard_") {
				continue // of Go and the process
			}
			var labels []string
			for _, l := range constant.FindAllStringSubmatch(m[3], -1) {
				labels = append(labels, l[1])
			}
			if m[4] != "" {
				labels = append(labels, strings.Split(m[4], ",")...)
			}
			kind := kinds[m[1]]
			if kind == "" {
				kind = kinds[""]
			}
			known[m[1]] = described{m[1], kind, strings.ReplaceAll(m[2], `\"`, `"`), strings.Join(labels, ",")}
		}
	}
	all := make([]described, 0, len(known))
	for _, m := range known {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b described) int { return strings.Compare(a.name, b.name) })
	if len(all) < 80 {
		t.Fatalf("only %d metrics were found", len(all))
	}
	return all
}

// kindsOf returns the types of a collector's metrics, by name; "" is that of a vector,
// which may have no series.
func kindsOf(t *testing.T, c prometheus.Collector) map[string]string {
	t.Helper()
	switch v := c.(type) {
	case *prometheus.HistogramVec, prometheus.Histogram:
		return map[string]string{"": "histogram"}
	case *prometheus.CounterVec:
		return map[string]string{"": "counter"}
	case *prometheus.GaugeVec, *health.Readiness:
		return map[string]string{"": "gauge"}
	case *metric.Expiring:
		if v.IsCounter() {
			return map[string]string{"": "counter"}
		}
		return map[string]string{"": "gauge"}
	}
	found := make(chan prometheus.Metric, 200)
	c.Collect(found)
	close(found)
	kinds := map[string]string{}
	name := regexp.MustCompile(`fqName: "([^"]*)"`)
	for m := range found {
		var d dto.Metric
		if err := m.Write(&d); err != nil {
			t.Fatal(err)
		}
		kind := "gauge"
		if d.GetCounter() != nil {
			kind = "counter"
		}
		kinds[name.FindStringSubmatch(m.Desc().String())[1]] = kind
	}
	return kinds
}

// While nothing consumes, the lag of the group is measured by the maintenance; and what
// is reported of a backend follows its end at once.
func TestMetricsWhileConsumersAndRedisAreDown(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.settings["transport"] = "streams"
	first := h.start("api,relay,projector,maintenance")
	score := func(n *node, delta int64) {
		t.Helper()
		if _, err := n.client("game", auth.ScopeUpdate).Submit(t.Context(),
			client.Increment{User: "bob", Delta: delta}); err != nil {
			t.Fatal(err)
		}
	}
	score(first, 1)
	h.await("the change to be ranked", func() bool {
		return first.metric(t, "scoreboard_projection_applied_total", "") > 0
	})
	first.stop()
	n := h.start("api,relay,maintenance")
	score(n, 2)
	h.await("a lag without a consumer", func() bool { return n.metric(t, "scoreboard_broker_lag_records", "") > 0 })
	for name, want := range map[string]float64{
		"scoreboard_ready": 1, `scoreboard_backend_up{backend="redis"}`: 1,
		`scoreboard_backend_up{backend="postgres"}`: 1,
	} {
		if got := n.metric(t, name, ""); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{
		"scoreboard_redis_call_seconds_count", "scoreboard_postgres_call_seconds_count",
		"scoreboard_broker_produce_seconds_count", "scoreboard_redis_memory_used_bytes",
		"scoreboard_postgres_server_connections", "scoreboard_postgres_database_bytes",
		"scoreboard_postgres_pool_limit", "scoreboard_redis_pool_connections", "scoreboard_redis_cpu_seconds_total",
		`scoreboard_ingest_board_increments_total{board="global"}`,
	} {
		if n.metric(t, name, "") <= 0 {
			t.Errorf("%s is missing or 0", name)
		}
	}
	h.redis.Stop()
	up, ready := n.metric(t, "scoreboard_backend_up", "redis"), n.metric(t, "scoreboard_ready", "")
	if up != 0 || ready != 1 {
		t.Errorf("without Redis: Redis up %v, ready %v, want 0 and 1", up, ready)
	}
	if up := n.metric(t, "scoreboard_backend_up", "postgres"); up != 1 {
		t.Errorf("without Redis: PostgreSQL up %v, want 1", up)
	}
}

// A process with the role api answers sbctl status and doctor, so it counts what other processes
// consume; the metric of it is the maintenance's.
func TestStatusCountsWhatOthersConsume(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.settings["transport"] = "streams"
	n := h.start("api,relay")
	operator := n.client("op", auth.ScopeAdmin)
	if _, err := n.client("game", auth.ScopeUpdate).Submit(t.Context(),
		client.Increment{User: "bob", Delta: 1}); err != nil {
		t.Fatal(err)
	}
	h.await("records of which nobody has consumed any", func() bool {
		status, err := operator.Status(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		_, queued := status.ConsumerLag["score:increments"]
		return queued && status.ConsumerLag["sb:stream"] > 0
	})
	found, err := operator.Checks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range found.Checks {
		if c.Name == "lag" && (c.Status != wire.CheckOK || strings.HasPrefix(c.Detail, "0 ")) {
			t.Errorf("got %+v, want the records to consume", c)
		}
	}
	if lag := n.metric(t, "scoreboard_broker_lag_records", ""); lag > 0 {
		t.Errorf("got the metric %v, want none without the role maintenance", lag)
	}
}
