package metric

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// MaxAge is after how long a value expires: a few times the interval of the measurements.
const MaxAge = 30 * time.Second

// Expiring is a metric whose values expire MaxAge after they were set.
type Expiring struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	now  func() time.Time

	mu     sync.Mutex
	values map[string]value // by the joined labels
}

type value struct {
	labels []string
	v      float64
	set    time.Time
}

// NewGauge returns a gauge with the given labels.
func NewGauge(o prometheus.GaugeOpts, labels ...string) *Expiring {
	return newExpiring(prometheus.GaugeValue, o, labels)
}

// NewCounter returns a counter that a backend keeps, and that is read from there.
func NewCounter(o prometheus.CounterOpts, labels ...string) *Expiring {
	return newExpiring(prometheus.CounterValue, prometheus.GaugeOpts(o), labels)
}

func newExpiring(kind prometheus.ValueType, o prometheus.GaugeOpts, labels []string) *Expiring {
	name := prometheus.BuildFQName(o.Namespace, o.Subsystem, o.Name)
	return &Expiring{
		desc: prometheus.NewDesc(name, o.Help, labels, o.ConstLabels), kind: kind, now: time.Now,
		values: make(map[string]value),
	}
}

// Set sets the value of a series; it takes as many labels as NewGauge.
func (g *Expiring) Set(v float64, labels ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.values[strings.Join(labels, "\xff")] = value{labels, v, g.now()}
}

// Describe implements prometheus.Collector.
func (g *Expiring) Describe(to chan<- *prometheus.Desc) { to <- g.desc }

// Collect implements prometheus.Collector. It forgets what has expired.
func (g *Expiring) Collect(to chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, s := range g.values {
		if g.now().Sub(s.set) > MaxAge {
			delete(g.values, key)
			continue
		}
		to <- prometheus.MustNewConstMetric(g.desc, g.kind, s.v, s.labels...)
	}
}

// IsCounter reports whether it was made by NewCounter.
func (g *Expiring) IsCounter() bool { return g.kind == prometheus.CounterValue }
