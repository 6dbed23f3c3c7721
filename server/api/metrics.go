package api

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	latency *prometheus.HistogramVec
}

func newMetrics() *metrics {
	return &metrics{latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "scoreboard_api_request_seconds", Help: "Time to answer, by route and status; its count is the rate.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .2, .5, 1, 2.5},
	}, []string{"method", "route", "status"})}
}

// route returns the observer of one route, which finds the usual status
// without a look-up.
func (m *metrics) route(method, path string) func(status int, took time.Duration) {
	ok := m.latency.WithLabelValues(method, path, "200")
	return func(status int, took time.Duration) {
		if status == 200 {
			ok.Observe(took.Seconds())
			return
		}
		m.latency.WithLabelValues(method, path, strconv.Itoa(status)).Observe(took.Seconds())
	}
}

// Collectors are what the root registers.
func (a *API) Collectors() []prometheus.Collector { return []prometheus.Collector{a.metrics.latency} }
