package loadgen

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/scoreboard/scoreboard/loadgen/criteria"
)

// redisCalls is the histogram of the server's calls to Redis.
const redisCalls = "scoreboard_redis_call_seconds"

// buckets count calls up to a duration, in seconds; that of infinity counts all.
type buckets map[float64]float64

// readBuckets adds up a histogram over its labels.
func readBuckets(metrics, name string) (buckets, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(metrics))
	if err != nil {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	if families[name].GetType() != dto.MetricType_HISTOGRAM {
		return nil, fmt.Errorf("the server has no histogram %s", name)
	}
	sum := buckets{}
	for _, m := range families[name].GetMetric() {
		for _, b := range m.GetHistogram().GetBucket() {
			sum[b.GetUpperBound()] += float64(b.GetCumulativeCount())
		}
	}
	return sum, nil
}

// since returns what was counted after earlier.
func (b buckets) since(earlier buckets) buckets {
	diff := maps.Clone(b)
	for bound, n := range earlier {
		diff[bound] -= n
	}
	return diff
}

// quantile estimates a quantile, 0 to 100, in milliseconds, as Prometheus does: evenly within a
// bucket. Above the last bound it is that bound. False without calls.
func (b buckets) quantile(q float64) (ms float64, ok bool) {
	bounds := slices.Sorted(maps.Keys(b))
	if len(bounds) < 2 || b[bounds[len(bounds)-1]] <= 0 {
		return 0, false
	}
	wanted := b[bounds[len(bounds)-1]] * q / 100
	low, counted := 0.0, 0.0
	for _, bound := range bounds[:len(bounds)-1] {
		if b[bound] >= wanted && b[bound] > counted {
			return 1000 * (low + (bound-low)*(wanted-counted)/(b[bound]-counted)), true
		}
		low, counted = bound, b[bound]
	}
	return 1000 * low, true
}

// countRedis returns the server's calls to Redis so far, nil with a note if they cannot be read.
func (a *acceptance) countRedis(ctx context.Context) buckets {
	text, err := scrape(ctx, a.run.web, a.run.Ops)
	var b buckets
	if err == nil {
		b, err = readBuckets(text, redisCalls)
	}
	if err != nil {
		a.run.note("the server's calls to Redis were not measured: %v", err)
	}
	return b
}

// measureRedis measures the server's calls to Redis during the load: those of the process whose metrics
// are read.
func (a *acceptance) measureRedis(ctx context.Context) {
	if a.redisBefore == nil {
		return
	}
	after := a.countRedis(ctx)
	if after == nil {
		return
	}
	calls := after.since(a.redisBefore)
	for _, q := range criteria.Quantiles {
		if v, ok := calls.quantile(q.Q); ok && q.Q < 100 {
			a.run.ending.Measured["redis."+q.Name] = v
		}
	}
}
