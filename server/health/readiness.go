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

// Readiness is GET /readyz: 200 while the process accepts requests and every
// backend that its roles need answers.
type Readiness struct {
	Postgres, Redis Ping
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
	if down == len(pings) || down > 0 && !r.ReadOnly {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, report)
}

// Live is GET /healthz: the process runs.
func Live(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only if the client has gone
}
