package health

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"
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
	ctx, cancel := context.WithTimeout(req.Context(), readyTimeout)
	defer cancel()
	pings := map[string]Ping{"postgres": r.Postgres, "redis": r.Redis}
	if r.Kafka != nil {
		pings["kafka"] = r.Kafka
	}
	report := map[string]string{"server": "ok"}
	status := http.StatusOK
	if !r.serving.Load() {
		status, report["server"] = http.StatusServiceUnavailable, "starting or stopping"
	}
	down := 0
	for name, ping := range pings {
		report[name] = "ok"
		if err := ping(ctx); err != nil {
			report[name] = "does not answer"
			if name != "kafka" || r.NeedsKafka() {
				down++
			}
			r.Log.Debug("not ready", "backend", name, "err", err)
		}
	}
	if report["postgres"] == "ok" {
		problem, next, err := r.Schema(ctx)
		switch {
		case err != nil:
			report["schema"] = schemaUnread
			down++
			r.Log.Debug("not ready", "backend", "postgres", "err", err)
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
	writeJSON(w, status, report)
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
