package metric

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Calls measures how long calls take and how many fail.
type Calls struct {
	seconds *prometheus.HistogramVec
	errors  *prometheus.CounterVec
}

// NewCalls returns the metrics PREFIX_seconds and PREFIX_errors_total with one label, whose
// values must be few. what completes their help: "of calls to Redis".
func NewCalls(prefix, what, label string) *Calls {
	return &Calls{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "_seconds", Help: "Duration " + what + ", failed ones included.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{label}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "_errors_total", Help: "Failures " + what + ".",
		}, []string{label}),
	}
}

// Observe counts a call that has ended.
func (c *Calls) Observe(call string, began time.Time, failed bool) {
	c.seconds.WithLabelValues(call).Observe(time.Since(began).Seconds())
	if failed {
		c.errors.WithLabelValues(call).Inc()
	}
}

// Declare makes the series of a call exist before its first failure.
func (c *Calls) Declare(call string) { c.errors.WithLabelValues(call) }

// Collectors returns the metrics, for registration.
func (c *Calls) Collectors() []prometheus.Collector {
	return []prometheus.Collector{c.seconds, c.errors}
}
