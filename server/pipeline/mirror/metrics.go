package mirror

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	published, failures, malformed *prometheus.CounterVec
	lag                            *prometheus.HistogramVec
	stalled                        []prometheus.Collector // by feed
	unreadable                     prometheus.Collector
}

func newMetrics(m *Mirror) *metrics {
	counter := func(name, help string) *prometheus.CounterVec {
		o := prometheus.CounterOpts{Name: "scoreboard_mirror_" + name, Help: help}
		return prometheus.NewCounterVec(o, []string{"feed"})
	}
	s := &metrics{
		published: counter("published_total", "Changes that were written to a feed, repeats included."),
		failures:  counter("failures_total", "Failed attempts to consume or to write a batch of a feed."),
		malformed: counter("malformed_total", "Malformed records, which are in the dead letters and in no feed."),
		lag: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "scoreboard_mirror_lag_seconds",
			Help:    "Time from recording a change to writing it to a feed, for the last change of each batch.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300, 3600},
		}, []string{"feed"}),
		unreadable: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "scoreboard_mirror_cut_off",
			Help: "1 while this process cannot read the transport in force, such as direct.",
		}, func() float64 {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.cutOff != "" {
				return 1
			}
			return 0
		}),
	}
	for _, f := range m.feeds {
		s.stalled = append(s.stalled, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        "scoreboard_mirror_stalled_seconds",
			Help:        "How long a feed has waited for its backend to accept a batch; 0 while it accepts them.",
			ConstLabels: prometheus.Labels{"feed": f.Name},
		}, func() float64 {
			d, _ := f.stalled()
			return d.Seconds()
		}))
	}
	return s
}

// Collectors returns the metrics, for registration.
func (s *metrics) Collectors() []prometheus.Collector {
	return append([]prometheus.Collector{s.published, s.failures, s.malformed, s.lag, s.unreadable}, s.stalled...)
}
