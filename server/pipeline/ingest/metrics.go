package ingest

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

type metrics struct {
	accepted, replayed, unchanged, rejected, overloaded, splits, locked prometheus.Counter
	batch, commit, latency                                              prometheus.Histogram
	boards                                                              *boardCounts
}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_ingest_" + name, Help: help})
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "scoreboard_ingest_" + name, Help: help, Buckets: buckets,
		})
	}
	// The time of transactions in buckets of a tenth, for a Prometheus that scrapes native histograms
	// and for scorebench size-check.
	native := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "scoreboard_ingest_" + name, Help: help, Buckets: buckets,
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
			NativeHistogramMinResetDuration: time.Hour,
		})
	}
	sizes := []float64{1, 2, 5, 10, 20, 50, 100, 200, 500}
	seconds := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
	return &metrics{
		accepted: counter("accepted_total", "Increments recorded."),
		replayed: counter("replayed_total", "Repeats of a recorded event, answered with the original receipt."),
		unchanged: counter("unchanged_total",
			"Scores of the dialect plain that were not better and left nothing in the ledger."),
		rejected:   counter("rejected_total", "Increments rejected by a rule, or not stored because of an error."),
		overloaded: counter("overloaded_total", "Increments rejected because too many were waiting."),
		locked:     counter("locked_total", "Increments delayed because another transaction had locked their user."),
		splits:     counter("splits_total", "Batches that were split to find an increment that fails."),
		batch:      histogram("batch_size", "Increments in a transaction.", sizes),
		commit:     native("commit_seconds", "Duration of a transaction, including retries.", seconds),
		latency:    histogram("latency_seconds", "Time from an increment's arrival to its answer.", seconds),
		boards:     newBoardCounts(),
	}
}

func (m *metrics) observe(c *call) {
	m.latency.Observe(time.Since(c.entered).Seconds())
	switch {
	case c.outcome.Err != nil:
		m.rejected.Inc()
	case replayed(c.outcome.Receipts):
		m.replayed.Inc()
	case len(c.outcome.Receipts) > 0 && c.outcome.Receipts[0].NotRecorded:
		m.unchanged.Inc()
	default:
		m.accepted.Inc()
		m.boards.count(c.outcome.Receipts)
	}
}

func replayed(receipts []scoreboard.Receipt) bool { return len(receipts) > 0 && receipts[0].Replayed }

// Collectors returns the metrics, for registration.
func (in *Ingest) Collectors() []prometheus.Collector {
	m := in.metrics
	return []prometheus.Collector{
		m.accepted, m.replayed, m.unchanged, m.rejected, m.overloaded, m.splits, m.locked, m.batch, m.commit, m.latency,
		m.boards.total, in.waiting(),
	}
}

// waiting counts the increments in the lanes when it is collected.
func (in *Ingest) waiting() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "scoreboard_ingest_waiting", Help: "Increments that wait for a transaction.",
	}, func() float64 {
		n := 0
		for _, l := range in.lanes {
			n += len(l.calls)
		}
		return float64(n)
	})
}

// maxBoards bounds the series of boardCounts.
const maxBoards = 100

// boardCounts counts increments by board; all instances of a family are one, and the
// boards beyond maxBoards are together "other".
type boardCounts struct {
	total *prometheus.CounterVec

	mu    sync.Mutex
	known map[scoreboard.BoardID]prometheus.Counter
}

func newBoardCounts() *boardCounts {
	return &boardCounts{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scoreboard_ingest_board_increments_total",
			Help: "Increments recorded, by board; the instances of a periodic board are one, and the boards " +
				"after the first 100 are \"other\".",
		}, []string{"board"}),
		known: make(map[scoreboard.BoardID]prometheus.Counter),
	}
}

func (b *boardCounts) count(receipts []scoreboard.Receipt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range receipts {
		family := receipts[i].Board.Family()
		c := b.known[family]
		if c == nil {
			label := string(family)
			if len(b.known) >= maxBoards {
				label = "other"
			}
			if c = b.total.WithLabelValues(label); label != "other" {
				b.known[family] = c
			}
		}
		c.Inc()
	}
}

// Status holds the counts of this process since its start.
type Status struct {
	Accepted int64
	Latency  []LatencyBucket // by rising bound, from an increment's arrival to its answer
	Answered uint64          // increments that Latency counts, including those above its last bound
}

// LatencyBucket counts the increments that were answered within a time.
type LatencyBucket struct {
	Seconds float64 // inclusive bound
	Count   uint64  // cumulative
}

// Status returns the counts of this process.
func (in *Ingest) Status() Status {
	var accepted, latency dto.Metric
	_ = in.metrics.accepted.Write(&accepted) // neither fails for metrics of these types
	_ = in.metrics.latency.Write(&latency)
	h := latency.GetHistogram()
	s := Status{Accepted: int64(accepted.GetCounter().GetValue()), Answered: h.GetSampleCount()}
	for _, b := range h.GetBucket() {
		s.Latency = append(s.Latency, LatencyBucket{b.GetUpperBound(), b.GetCumulativeCount()})
	}
	return s
}
