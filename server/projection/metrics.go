package projection

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	applied, failures, buried, newer prometheus.Counter
	lag                              prometheus.Histogram
}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_projection_" + name, Help: help})
	}
	return &metrics{
		applied:  counter("applied_total", "Changes handed to the ranking, newer or not."),
		failures: counter("failures_total", "Times that a batch had to be tried again."),
		buried:   counter("buried_total", "Records that went to the dead letters."),
		newer:    counter("newer_schema_total", "Times that a partition waited for a later build."),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "scoreboard_projection_lag_seconds", Help: "From recording a change to its place in the ranking, of the last change of each batch.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60},
		}),
	}
}

// Collectors are what the root registers.
func (p *Projection) Collectors() []prometheus.Collector {
	m := p.metrics
	return []prometheus.Collector{m.applied, m.failures, m.buried, m.newer, m.lag}
}
