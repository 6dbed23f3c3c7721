package bench

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/scoreboard/scoreboard/internal/sizing"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// A native histogram is read with the accuracy of its buckets, and since an earlier state.
func TestNativeHistogram(t *testing.T) {
	t.Parallel()
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "x", NativeHistogramBucketFactor: 1.1})
	read := func() (all histogram) {
		var m dto.Metric
		if err := h.Write(&m); err != nil {
			t.Fatal(err)
		}
		all.add(m.GetHistogram())
		return all
	}
	for range 500 {
		h.Observe(5)
	}
	before := read()
	for i := range 1000 {
		h.Observe(float64(i+1) / 1000) // 1 ms to 1 s, evenly
	}
	got := read().since(before)
	if got.count != 1000 || (got.mean()-500*time.Millisecond).Abs() > time.Millisecond {
		t.Errorf("got %d values with a mean of %s, want 1000 and 500 ms", got.count, got.mean())
	}
	for _, q := range []float64{0.05, 0.5, 0.95} {
		want := time.Duration(q * float64(time.Second))
		if d := got.quantile(q) - want; d.Abs() > want/10 {
			t.Errorf("quantile %v: got %s, want %s within a tenth", q, got.quantile(q), want)
		}
	}
	spread := got.spread()
	if middle := spread[len(spread)/2]; middle < 900 || middle > 1100 {
		t.Errorf("the middle of the spread is %d thousandths of the mean, want 1000", middle)
	}
}

// What surrounds a transaction is the lateness of the generator and a random time.
func TestAround(t *testing.T) {
	t.Parallel()
	late := lateness(&report.Latency{P50: 1, P90: 2, P95: 3, P99: 4, P999: 10})
	if late[500] != time.Millisecond || late[950].Round(time.Microsecond) != 3*time.Millisecond {
		t.Errorf("got %s and %s, want the percentiles 1 and 3 ms", late[500], late[950])
	}
	both := around(sizing.Distribution{2 * time.Millisecond}, 10*time.Millisecond)
	sum := time.Duration(0)
	for _, d := range both {
		sum += d
	}
	if mean := sum / time.Duration(len(both)); (mean - 12*time.Millisecond).Abs() > time.Millisecond {
		t.Errorf("got a mean of %s, want 12 ms", mean)
	}
}
