package health

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// readyTimeout bounds an answer to /readyz.
const readyTimeout = 2 * time.Second

// Schema describes why this process cannot run on the database's schema, and what to
// do; "" and "" if it can. An error says that the schema's version was not read.
type Schema func(ctx context.Context) (problem, nextStep string, err error)

// Settings describes which stored settings this process does not follow; "" if it
// follows all. unsafe says that it must not receive requests.
type Settings func() (detail string, unsafe bool)

// Readiness is GET /readyz: 200 while the process accepts requests, every backend
// that its roles need answers, the database has a schema that it supports, and it
// follows the stored settings; it names those that it skips.
type Readiness struct {
	Postgres, Redis Ping
	Schema          Schema
	Settings        Settings
	Kafka           Ping        // nil in a process that does not use Kafka
	NeedsKafka      func() bool // with the current transport
	// ReadOnly processes are ready while either backend answers: reads fall back
	// to the other, and taking such a node out of service would end them.
	ReadOnly bool
	Log      *slog.Logger

	serving atomic.Bool
}

// SetServing says whether the process accepts requests.
func (r *Readiness) SetServing(serving bool) { r.serving.Store(serving) }

// ServeHTTP implements http.Handler.
func (r *Readiness) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	status, report := r.check(req.Context())
	writeJSON(w, status, report)
}

const answers = "ok"

// check returns the status of /readyz and the state of each part of the process. A
// backend that hangs does not spoil the answers of the others.
func (r *Readiness) check(ctx context.Context) (status int, report map[string]string) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	pings := r.pings()
	results := make(map[string]error, len(pings))
	var all sync.WaitGroup
	var mu sync.Mutex
	for name, ping := range pings {
		all.Go(func() {
			err := ping(ctx)
			mu.Lock()
			defer mu.Unlock()
			results[name] = err
		})
	}
	var problem, next string
	var unread error
	all.Go(func() { problem, next, unread = r.Schema(ctx) })
	all.Wait()
	status, report = http.StatusOK, map[string]string{"server": answers}
	if !r.serving.Load() {
		status, report["server"] = http.StatusServiceUnavailable, "starting or stopping"
	}
	down := 0
	for name, err := range results {
		report[name] = answers
		if err != nil {
			report[name] = describe(err)
			if name != "kafka" || r.NeedsKafka() {
				down++
			}
			r.Log.Debug("not ready", "backend", name, "err", err)
		}
	}
	if report["postgres"] == answers {
		switch {
		case unread != nil:
			report["schema"] = unreadReason(unread)
			down++
			r.Log.Debug("not ready", "backend", "postgres", "err", unread)
		case problem != "":
			report["schema"] = problem + ": " + next
			status = http.StatusServiceUnavailable
		}
	}
	if detail, unsafe := r.Settings(); detail != "" {
		report["settings"] = detail
		if unsafe {
			status = http.StatusServiceUnavailable
		}
	}
	if down >= len(pings) || down > 0 && !r.ReadOnly {
		status = http.StatusServiceUnavailable
	}
	return status, report
}

func (r *Readiness) pings() map[string]Ping {
	all := map[string]Ping{"postgres": r.Postgres, "redis": r.Redis}
	if r.Kafka != nil {
		all["kafka"] = r.Kafka
	}
	return all
}

var (
	readyDesc = prometheus.NewDesc("scoreboard_ready",
		"1 while /readyz answers 200; evaluated when metrics are read.", nil, nil)
	backendDesc = prometheus.NewDesc("scoreboard_backend_up",
		"1 while a backend answers; evaluated when metrics are read.", []string{"backend"}, nil)
)

// Describe implements prometheus.Collector.
func (r *Readiness) Describe(to chan<- *prometheus.Desc) {
	to <- readyDesc
	to <- backendDesc
}

// Collect implements prometheus.Collector. It checks at once, so that what is reported
// is never older than the scrape.
func (r *Readiness) Collect(to chan<- prometheus.Metric) {
	one := func(ok bool) float64 {
		if ok {
			return 1
		}
		return 0
	}
	status, report := r.check(context.Background())
	to <- prometheus.MustNewConstMetric(readyDesc, prometheus.GaugeValue, one(status == http.StatusOK))
	for name := range r.pings() {
		up := one(report[name] == answers)
		to <- prometheus.MustNewConstMetric(backendDesc, prometheus.GaugeValue, up, name)
	}
}

// unreadReason says why the schema was not read.
func unreadReason(err error) string {
	if setup := new(scoreboard.SetupError); errors.As(err, &setup) {
		return setup.Error()
	}
	return schemaUnread
}

// schemaUnread is what a database is reported as that answers, but not this query.
const schemaUnread = "its version was not read: the user of postgres.url must be able to select from goose_db_version"

// Live is GET /healthz: the process runs.
func Live(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only if the client has gone
}
