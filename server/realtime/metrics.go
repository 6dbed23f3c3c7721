package realtime

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts what a hub does.
type metrics struct {
	connections *prometheus.GaugeVec
	rejected    *prometheus.CounterVec
	closed      *prometheus.CounterVec
	stalled     prometheus.Gauge
	sent        *prometheus.CounterVec
	skipped     prometheus.Counter
	encode      prometheus.Histogram
	checks      *prometheus.CounterVec
	window      prometheus.GaugeFunc
	boards      prometheus.GaugeFunc
	lag         prometheus.GaugeFunc
}

func newMetrics(h *Hub) *metrics {
	name := func(s string) string { return "scoreboard_realtime_" + s }
	m := &metrics{
		connections: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: name("connections"), Help: "Open realtime connections.",
		}, []string{"dialect", "transport"}),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: name("rejected_total"), Help: "Rejected connections, by limit.",
		}, []string{"limit"}),
		closed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: name("closed_total"), Help: "Connections closed, by reason.",
		}, []string{"reason"}),
		stalled: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: name("stalled_connections"), Help: "Connections whose client does not read what was written.",
		}),
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: name("messages_sent_total"), Help: "Messages written, by dialect, type and transport.",
		}, []string{"dialect", "type", "transport"}),
		skipped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: name("states_skipped_total"), Help: "States that were not sent because the connection was too slow.",
		}),
		encode: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: name("encode_seconds"), Help: "Time to encode a message, which all its connections share.",
			Buckets: prometheus.ExponentialBuckets(1e-6, 4, 8),
		}),
		checks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: name("checks_total"), Help: "Boards read again because no notice came, by result.",
		}, []string{"result"}),
		window: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: name("window_seconds"),
			Help: "Current minimum time between two messages of a board; above realtime.window while the hub lags.",
		}, func() float64 {
			w, _ := h.window.width()
			return w.Seconds()
		}),
		boards: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: name("boards"), Help: "Boards that this node streams.",
		}, func() float64 {
			h.mu.RLock()
			defer h.mu.RUnlock()
			return float64(len(h.boards))
		}),
		lag: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: name("lag_seconds"),
			Help: "How far this node's streams are behind the rankings: the time for which a watched board was not " +
				"confirmed by a notice or a read, a change not published, or a message not written.",
		}, func() float64 { return lagOf(h, time.Now()).Seconds() }),
	}
	return m
}

// CountSent counts a message that was written.
func (m *metrics) CountSent(f *Message, as Encoding) {
	f.sent[as].Inc()
	f.trace.end(as)
}

// transports are the labels of the encodings; Output.Kind has the same.
var transports = [encodings]string{WebSocket: "websocket", SSE: "sse"}

// CountClosed counts a connection that was closed.
func (m *metrics) CountClosed(reason string) { m.closed.WithLabelValues(reason).Inc() }

// AddStalled changes the number of stalled connections.
func (m *metrics) AddStalled(n float64) { m.stalled.Add(n) }

// Collectors returns the hub's metrics.
func (m *metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		m.connections, m.rejected, m.closed, m.stalled, m.sent, m.skipped, m.encode, m.checks, m.window, m.boards,
		m.lag,
	}
}
