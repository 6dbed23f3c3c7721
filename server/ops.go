package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/scoreboard/scoreboard/server/config"
)

// gate is open while the server wants requests.
type gate struct{ state atomic.Bool }

func (g *gate) open()        { g.state.Store(true) }
func (g *gate) close()       { g.state.Store(false) }
func (g *gate) isOpen() bool { return g.state.Load() }

// opsServer serves operations: metrics, health, profiles. Its port is not for
// the public.
func (s *Server) opsServer() *http.Server {
	m := http.NewServeMux()
	m.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}))
	m.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	m.HandleFunc("GET /readyz", s.readyz)
	m.HandleFunc("GET /debug/pprof/", pprof.Index)
	m.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	m.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	m.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return s.bounded(m)
}

// readyz is 200 when the server takes requests and all that its roles need
// answers.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	checks := map[string]func(context.Context) error{"postgres": s.store.Ping, "redis": s.ranking.Ping}
	if s.kafka != nil {
		checks["kafka"] = s.kafka.Ping
	}
	report := map[string]string{"server": "ok"}
	status := http.StatusOK
	if !s.ready.isOpen() {
		status, report["server"] = http.StatusServiceUnavailable, "starting or stopping"
	}
	away := 0
	for name, check := range checks {
		report[name] = "ok"
		if err := check(ctx); err != nil {
			report[name] = "does not answer"
			if name != "kafka" || s.needsKafka(s.knobs.current.Load().Transport) {
				away++
			}
			s.log.Debug("not ready", "backend", name, "err", err)
		}
	}
	if away == len(checks) || away > 0 && !s.readsAlone() {
		status = http.StatusServiceUnavailable
	}
	answer(w, status, report)
}

// readsAlone reports whether nobody writes here. Reads go on with either of their
// backends: a node that says it is not ready would take them away.
func (s *Server) readsAlone() bool {
	for _, role := range s.config.Roles {
		if role != config.RoleRead && role != config.RoleGateway {
			return false
		}
	}
	return true
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has gone, or it has not
}
