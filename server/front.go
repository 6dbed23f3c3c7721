package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/scoreboard/scoreboard/server/api"
	"github.com/scoreboard/scoreboard/server/edge"
)

// The bounds of a connection. A body of a megabyte fits into readTimeout over
// any line that is worth serving. An answer has api.WriteTime; what takes longer
// in the making, and streams, set their own for each piece.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
	maxStreams    = 100 // requests at once on one HTTP/2 connection
)

// bounded is a server that nobody can hold up by being slow. What net/http says
// about connections that ended badly is for debugging.
func (s *Server) bounded(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// front is the server of the API's port.
func (s *Server) front() *http.Server {
	front := s.bounded(s.proxies.Wrap(s.api, func() string { return s.knobs.current.Load().AnomalyCountryHeader }))
	// Over HTTP/2 the first ends a stream whose reader is slow, the second a
	// connection that takes nothing at all.
	front.WriteTimeout, front.HTTP2.WriteByteTimeout = api.WriteTime, api.WriteTime
	if s.certificates != nil {
		front.TLSConfig = s.certificates.Config()
	}
	return front
}

// makeEdge reads what stands between the network and the API.
func (s *Server) makeEdge() (err error) {
	c := s.config
	if s.proxies, err = edge.ParseProxies(c.TrustedProxies); err != nil {
		return fmt.Errorf("knob trusted_proxies: %w", err)
	}
	if c.TLSCert == "" {
		return nil
	}
	s.certificates, err = edge.NewCertificates(edge.Files{Cert: c.TLSCert, Key: c.TLSKey, ClientCA: c.TLSClientCA}, s.log)
	if err != nil {
		return err
	}
	s.add("certificates", s.certificates)
	return nil
}
