package report

import (
	"fmt"
	"strings"

	"github.com/scoreboard/scoreboard/internal/spark"
	"github.com/scoreboard/scoreboard/loadgen/criteria"
)

// sparkWidth is the maximum number of columns of a spark.
const sparkWidth = 40

// overTime returns what a criterion limits in each interval; nil for what is known of a whole run only. Of
// freshness it is the worst of the interval, whatever the quantile.
func overTime(name string) func(s *Slice) float64 {
	switch name {
	case api + ".p50":
		return func(s *Slice) float64 { return s.P50 }
	case api + ".p95":
		return func(s *Slice) float64 { return s.P95 }
	case api + ".p99":
		return func(s *Slice) float64 { return s.P99 }
	case rate:
		return func(s *Slice) float64 { return s.good }
	case "errors":
		return func(s *Slice) float64 { return 100 * s.Errors / max(s.Sent, 1) }
	}
	switch {
	case strings.HasPrefix(name, redis+"."):
		return func(s *Slice) float64 { return s.Redis }
	case strings.HasPrefix(name, client+"."):
		return func(s *Slice) float64 { return s.Client }
	}
	return nil
}

// where draws a missed criterion over the run, and says in which intervals the limit was missed. Both are ""
// for what is known of a whole run only, and if no interval by itself missed it.
func (r *Report) where(c criteria.Criterion) (drawn, words string) {
	value := overTime(c.Name)
	if value == nil || len(r.Timeline) == 0 {
		return "", ""
	}
	width := 1.0
	if len(r.Timeline) > 1 {
		width = r.Timeline[1].At
	}
	isMin := strings.HasPrefix(c.Op, ">")
	isWorse := func(a, b float64) bool { return !isMin && a > b || isMin && a < b }
	columns := make([]float64, min(len(r.Timeline), sparkWidth))
	first, last, worst, missed, top := -1, 0, 0, 0, c.Limit
	for i := range r.Timeline {
		v := value(&r.Timeline[i])
		column := i * len(columns) / len(r.Timeline)
		if i == 0 || (i-1)*len(columns)/len(r.Timeline) < column || isWorse(v, columns[column]) {
			columns[column] = v
		}
		if isWorse(v, value(&r.Timeline[worst])) {
			worst = i
		}
		if _, pass := c.Evaluate(map[string]float64{c.Name: v}); !pass {
			if missed++; first < 0 {
				first = i
			}
			last = i
		}
		top = max(top, v)
	}
	if missed == 0 || top <= 0 {
		return "", ""
	}
	words = fmt.Sprintf("missed in %.0f of %.0f s, from %.0f s to %.0f s; worst at %.0f s: %s",
		min(float64(missed)*width, r.Seconds), r.Seconds, r.Timeline[first].At,
		min(r.Timeline[last].At+width, r.Seconds),
		r.Timeline[worst].At, shownValue(c, value(&r.Timeline[worst])))
	return spark.Columns(columns, top, 1, spark.Blocks)[0], words
}
