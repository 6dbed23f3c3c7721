package outbox

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	published prometheus.Counter
	failures  prometheus.Counter
	buried    prometheus.Counter
	lag       prometheus.Histogram
}

func newMetrics() *metrics {
	return &metrics{
		published: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_outbox_published_total", Help: "Changes that the transport has acknowledged.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_outbox_failures_total", Help: "Times that the relay had to start again from its cursor.",
		}),
		buried: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_outbox_buried_total", Help: "Rows that the transport refused and that went to the dead letters.",
		}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "scoreboard_outbox_lag_seconds", Help: "From recording a change to its acknowledgement, of the last change of each batch.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60},
		}),
	}
}

// Collectors are what the root registers.
func (r *Relay) Collectors() []prometheus.Collector {
	return []prometheus.Collector{r.metrics.published, r.metrics.failures, r.metrics.buried, r.metrics.lag}
}
