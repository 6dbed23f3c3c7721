package server

import (
	"log/slog"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/scoreboard/scoreboard/server/api"
	"github.com/scoreboard/scoreboard/server/health"
)

// Limits of a connection. A body of one megabyte fits into readTimeout on any
// usable line. Responses are bounded by api.WriteTime; streams and slow handlers
// extend it for each piece they write.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
	maxStreams    = 100 // concurrent requests on one HTTP/2 connection
)

// newHTTPServer returns a server that a slow client cannot occupy. What net/http
// logs about broken connections is logged at debug level.
func (s *Server) newHTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// apiServer serves the API's port.
func (s *Server) apiServer() *http.Server {
	h := s.newHTTPServer(s.proxies.Wrap(s.api, func() string { return s.settings.Current().Anomaly.CountryHeader }))
	// Over HTTP/2 the first ends a stream whose reader is slow, the second a
	// connection that accepts no data at all.
	h.WriteTimeout, h.HTTP2.WriteByteTimeout = api.WriteTime, api.WriteTime
	if s.certificates != nil {
		h.TLSConfig = s.certificates.Config()
	}
	return h
}

// opsServer serves the operations port: metrics, health and profiles. It must
// not be reachable from the public network.
func (s *Server) opsServer() *http.Server {
	m := http.NewServeMux()
	m.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}))
	m.HandleFunc("GET /healthz", health.Live)
	m.Handle("GET /readyz", s.ready)
	m.HandleFunc("GET /debug/pprof/", pprof.Index)
	m.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	m.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	m.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return s.newHTTPServer(m)
}
