package ingest

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

type metrics struct {
	accepted, replayed, rejected, refused, splits, aside prometheus.Counter
	batch, commit, latency                               prometheus.Histogram
}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_ingest_" + name, Help: help})
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: "scoreboard_ingest_" + name, Help: help, Buckets: buckets})
	}
	seconds := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
	return &metrics{
		accepted: counter("accepted_total", "Increments recorded."),
		replayed: counter("replayed_total", "Repeats of a known event, answered with the original receipt."),
		rejected: counter("rejected_total", "Increments refused by a rule or not stored."),
		refused:  counter("refused_total", "Increments refused because too many were waiting."),
		aside:    counter("set_aside_total", "Increments of users whom another transaction had locked."),
		splits:   counter("splits_total", "Batches that were split to find the one to blame."),
		batch:    histogram("batch_size", "Increments in a transaction.", []float64{1, 2, 5, 10, 20, 50, 100, 200, 500}),
		commit:   histogram("commit_seconds", "From the start of a transaction to its end, retries included.", seconds),
		latency:  histogram("latency_seconds", "From an increment's entry to its answer.", seconds),
	}
}

func (m *metrics) observe(c *call) {
	m.latency.Observe(time.Since(c.entered).Seconds())
	switch {
	case c.outcome.Err != nil:
		m.rejected.Inc()
	case replayed(c.outcome.Receipts):
		m.replayed.Inc()
	default:
		m.accepted.Inc()
	}
}

func replayed(receipts []scoreboard.Receipt) bool { return len(receipts) > 0 && receipts[0].Replayed }

// Collectors are what the root registers.
func (in *Ingest) Collectors() []prometheus.Collector {
	m := in.metrics
	return []prometheus.Collector{m.accepted, m.replayed, m.rejected, m.refused, m.splits, m.aside, m.batch, m.commit, m.latency}
}
