package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/scoreboard/scoreboard/loadgen/sizing"
)

// histogram is a native histogram of the daemon: counts by the index of a bucket, whose bounds grow by
// a constant factor.
type histogram struct {
	count  uint64
	sum    float64 // seconds
	counts map[int]int64
	schema int32
}

func (h *histogram) add(m *dto.Histogram) {
	h.count += m.GetSampleCount()
	h.sum += m.GetSampleSum()
	h.schema = m.GetSchema()
	if h.counts == nil {
		h.counts = make(map[int]int64)
	}
	index, count, next := 0, int64(0), 0
	for _, span := range m.GetPositiveSpan() {
		index += int(span.GetOffset())
		for range span.GetLength() {
			count += m.GetPositiveDelta()[next]
			h.counts[index] += count
			index++
			next++
		}
	}
}

// since is what came after an earlier state.
func (h histogram) since(before histogram) histogram {
	counts := maps.Clone(h.counts)
	for i, n := range before.counts {
		counts[i] -= n
	}
	return histogram{h.count - before.count, h.sum - before.sum, counts, h.schema}
}

func (h *histogram) mean() time.Duration {
	return time.Duration(h.sum / math.Max(float64(h.count), 1) * float64(time.Second))
}

// quantile is the middle of the bucket that has it.
func (h *histogram) quantile(q float64) time.Duration {
	var total, seen int64
	for _, n := range h.counts {
		total += n
	}
	for _, i := range slices.Sorted(maps.Keys(h.counts)) {
		if seen += h.counts[i]; float64(seen) >= q*float64(total) {
			return h.middle(i)
		}
	}
	return 0
}

func (h *histogram) middle(index int) time.Duration {
	base := math.Pow(2, math.Pow(2, -float64(h.schema)))
	return time.Duration(math.Pow(base, float64(index)-0.5) * float64(time.Second))
}

// beyond is the distribution of what the values are above a duration, or below it.
func (h *histogram) beyond(d time.Duration) sizing.Distribution {
	const steps = 50
	values := make(sizing.Distribution, steps)
	for i := range values {
		values[i] = h.quantile((float64(i)+0.5)/steps) - d
	}
	return values
}

// laneTotals reads the histograms of transactions and requests since the daemon's start.
func (r sizeBench) laneTotals(ctx context.Context) (f laneFlow, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.ops+"/metrics", nil)
	if err != nil {
		return f, err
	}
	format := expfmt.NewFormat(expfmt.TypeProtoDelim) // the text format has no native histograms
	req.Header.Set("Accept", string(format))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return f, err
	}
	defer func() { _ = res.Body.Close() }()
	for from := expfmt.NewDecoder(res.Body, expfmt.ResponseFormat(res.Header)); ; {
		var family dto.MetricFamily
		if err := from.Decode(&family); errors.Is(err, io.EOF) {
			return f, nil
		} else if err != nil {
			return f, err
		}
		to := map[string]*histogram{
			"scoreboard_ingest_commit_seconds": &f.commit, "scoreboard_ingest_latency_seconds": &f.ingest,
		}[family.GetName()]
		for _, m := range family.GetMetric() {
			if to != nil {
				to.add(m.GetHistogram())
			}
		}
	}
}
