package server

import "github.com/prometheus/client_golang/prometheus"

// Measured returns the collectors of all metrics.
func (s *Server) Measured() []prometheus.Collector { return s.measured }
