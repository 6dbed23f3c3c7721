package server

import (
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// The window of what is told as a rate: from the oldest look in it to now.
const (
	pulseWindow = 10 * time.Second
	pulseLeast  = 500 * time.Millisecond // below it a rate would be noise
	pulseLooks  = 32
)

// pulse tells how this node feels, out of the metrics that it has anyway. It
// looks when it is asked, so it costs nothing while nobody does.
type pulse struct {
	metrics prometheus.Gatherer
	roles   []string
	began   time.Time

	mu    sync.Mutex
	looks []look // the last ones, oldest first
}

// look is what rates are made of: counts since the start.
type look struct {
	at       time.Time
	accepted float64
	latency  *dto.Histogram
}

func newPulse(metrics prometheus.Gatherer, roles []string) *pulse {
	return &pulse{metrics: metrics, roles: roles, began: time.Now()}
}

// Pulse is how the node feels now.
func (p *pulse) Pulse() (protocol.Status, error) {
	s := protocol.Status{Roles: p.roles, UptimeSeconds: int64(time.Since(p.began).Seconds())}
	families, err := p.metrics.Gather()
	if err != nil {
		return s, err
	}
	now := look{at: time.Now()}
	counter := func(f *dto.MetricFamily) int64 { return int64(f.GetMetric()[0].GetCounter().GetValue()) }
	var parity protocol.Parity
	for _, f := range families {
		switch f.GetName() {
		case "scoreboard_ingest_accepted_total":
			now.accepted = f.GetMetric()[0].GetCounter().GetValue()
		case "scoreboard_ingest_latency_seconds":
			now.latency = f.GetMetric()[0].GetHistogram()
		case "scoreboard_broker_lag_records":
			s.ConsumerLag = byLabel(f)
		case "scoreboard_realtime_connections":
			s.Connections = byLabel(f)
		case "scoreboard_reconcile_checked_total":
			parity.Checked = counter(f)
			s.Parity = &parity
		case "scoreboard_reconcile_drift_total":
			parity.Drifted = counter(f)
		case "scoreboard_reconcile_mended_total":
			parity.Repaired = counter(f)
		}
	}
	parity.Percent = 100
	if parity.Checked > 0 {
		parity.Percent = 100 * float64(parity.Checked-parity.Drifted) / float64(parity.Checked)
	}
	if now.latency != nil { // there are writes here
		p.rates(&s, now)
	}
	return s, nil
}

// byLabel is a family of gauges by the value of its one label.
func byLabel(f *dto.MetricFamily) map[string]int64 {
	all := make(map[string]int64, len(f.GetMetric()))
	for _, m := range f.GetMetric() {
		name := ""
		if labels := m.GetLabel(); len(labels) > 0 {
			name = labels[0].GetValue()
		}
		all[name] += int64(m.GetGauge().GetValue())
	}
	return all
}

// rates compares now with an earlier look and keeps it for later ones.
func (p *pulse) rates(s *protocol.Status, now look) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.looks) > 0 && (now.at.Sub(p.looks[0].at) > pulseWindow || len(p.looks) == pulseLooks) {
		p.looks = p.looks[1:]
	}
	p.looks = append(p.looks, now)
	before := p.looks[0]
	took := now.at.Sub(before.at)
	if took < pulseLeast {
		return
	}
	rate := (now.accepted - before.accepted) / took.Seconds()
	s.WindowMS, s.IncrementsPerSecond = took.Milliseconds(), &rate
	if p95, ok := quantile(before.latency, now.latency, 0.95); ok {
		ms := 1000 * p95
		s.LatencyP95MS = &ms
	}
}

// quantile is that of what came between two looks at a histogram, in between
// the bounds of its bucket; false where nothing came.
func quantile(before, now *dto.Histogram, q float64) (float64, bool) {
	total := now.GetSampleCount() - before.GetSampleCount()
	if total == 0 {
		return 0, false
	}
	want := q * float64(total)
	lower, below := 0.0, 0.0
	for i, b := range now.GetBucket() {
		n := float64(b.GetCumulativeCount() - before.GetBucket()[i].GetCumulativeCount())
		if n >= want {
			if math.IsInf(b.GetUpperBound(), 1) {
				return lower, true
			}
			return lower + (b.GetUpperBound()-lower)*(want-below)/(n-below), true
		}
		lower, below = b.GetUpperBound(), n
	}
	return lower, true // past the last bound: at least that
}
