package main

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/scoreboard/scoreboard/loadgen/sizing"
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
	more := got.beyond(500 * time.Millisecond)
	if middle, last := more[len(more)/2], more[len(more)-1]; middle.Abs() > 50*time.Millisecond ||
		(last-490*time.Millisecond).Abs() > 50*time.Millisecond {
		t.Errorf("got %s in the middle and %s at the end beyond 500 ms, want 0 and 490 ms", middle, last)
	}
}

// What surrounds a transaction is the lateness of the generator and a random time.
func TestAround(t *testing.T) {
	t.Parallel()
	both := around(sizing.Distribution{2 * time.Millisecond}, 10*time.Millisecond)
	sum := time.Duration(0)
	for _, d := range both {
		sum += d
	}
	if mean := sum / time.Duration(len(both)); (mean - 12*time.Millisecond).Abs() > time.Millisecond {
		t.Errorf("got a mean of %s, want 12 ms", mean)
	}
}
