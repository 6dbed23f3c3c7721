package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The units of the quantities that are compared.
const (
	perSecond    = "/s"
	share        = "%"
	milliseconds = " ms"
)

// noise is the change of a latency in milliseconds that a relative threshold always
// tolerates: 10 % of a latency of a few milliseconds is less than a scheduler's delay.
const noise = 1.0

// quantity is a measured value that two runs are compared by.
type quantity struct {
	name, title, unit string
	// threshold by default, in percent of the other run's value, or for a share in
	// percentage points; 0 for a value that is only shown.
	threshold float64
	// detail marks a quantity that explains others and that users do not notice. It is only
	// judged by a threshold with its full name.
	detail bool
}

// compared are the quantities of a comparison, by the names of criteria.
var compared = func() []quantity {
	all := []quantity{
		{"increments.rate", "increments with the required response", perSecond, 5, false},
		{"reads.rate", "reads with the required response", perSecond, 5, false},
		{"errors", "requests without the required response", share, 0.1, false},
		{"behind", "requests that were not sent in time", share, 1, false},
	}
	for _, l := range latencies {
		for _, q := range []struct {
			name      string
			threshold float64
		}{{"p50", 10}, {"p95", 10}, {"p99", 15}, {"p99.9", 0}} {
			detail := l.name == service || l.name == late
			if detail {
				q.threshold = 0
			}
			all = append(all, quantity{l.name + "." + q.name, l.title, milliseconds, q.threshold, detail})
		}
	}
	return all
}()

// Threshold is by how much a quantity may become worse.
type Threshold struct {
	// Name is that of a quantity, such as api.p95, or its end, such as p95, for all
	// quantities with this end but details.
	Name     string
	Value    float64
	Relative bool // in percent of the other run's value; else in the quantity's unit
}

// ParseThreshold parses NAME=VALUE, such as p95=10%, api.p99=5ms, rate=20 or errors=0.5%. A
// percentage is relative, but of a share it is in percentage points.
func ParseThreshold(text string) (Threshold, error) {
	name, value, found := strings.Cut(text, "=")
	if !found {
		return Threshold{}, fmt.Errorf("invalid threshold %q: write it as p95=10%%", text)
	}
	t := Threshold{Name: name}
	unit := ""
	for _, q := range compared {
		if t.covers(q) {
			unit = q.unit
			break
		}
	}
	if unit == "" {
		return Threshold{}, fmt.Errorf("unknown metric %q; must be one of %s, or an end of them such as p95",
			name, strings.Join(comparedNames(), ", "))
	}
	var err error
	number, percentage := strings.CutSuffix(value, "%")
	switch {
	case percentage:
		t.Value, err = strconv.ParseFloat(number, 64)
		t.Relative = unit != share
	case unit == milliseconds:
		var d time.Duration
		d, err = time.ParseDuration(value)
		t.Value = ms(d)
	case unit == perSecond:
		t.Value, err = strconv.ParseFloat(value, 64)
	default:
		return Threshold{}, fmt.Errorf("invalid threshold %q: %s is a percentage, such as 0.5%%", text, name)
	}
	if err != nil || t.Value < 0 || math.IsNaN(t.Value) || math.IsInf(t.Value, 0) {
		example := map[string]string{milliseconds: "5ms", perSecond: "20", share: "0.5%"}[unit]
		return Threshold{}, fmt.Errorf("invalid threshold %q: write the value as 10%% or %s", text, example)
	}
	return t, nil
}

func comparedNames() []string {
	names := make([]string, len(compared))
	for i, q := range compared {
		names[i] = q.name
	}
	return names
}

func (t Threshold) covers(q quantity) bool {
	return t.Name == q.name || t.Name != "" && !q.detail && strings.HasSuffix(q.name, "."+t.Name)
}

// thresholdOf returns the threshold of a quantity: of those given the last that names it in
// full, else the last that covers it, else the default. ok is false if it has none.
func thresholdOf(q quantity, given []Threshold) (t Threshold, ok bool) {
	for _, matches := range []func(Threshold) bool{
		func(t Threshold) bool { return t.Name == q.name },
		func(t Threshold) bool { return t.covers(q) },
	} {
		for _, t := range slices.Backward(given) {
			if matches(t) {
				return t, true
			}
		}
	}
	return Threshold{q.name, q.threshold, q.unit != share}, q.threshold > 0
}

// text formats the threshold of a quantity with its unit.
func (t Threshold) text(q quantity) string {
	value := strconv.FormatFloat(t.Value, 'f', -1, 64)
	switch {
	case t.Relative:
		return value + "%"
	case q.unit == share:
		if t.Value == 1 {
			return "1 point"
		}
		return value + " points"
	}
	return value + q.unit
}

// judge says whether a quantity became worse or better by more than the threshold.
func (t Threshold) judge(q quantity, this, other float64) string {
	worse, allowed := this-other, t.Value
	if q.unit == perSecond {
		worse = -worse
	}
	if t.Relative {
		allowed = t.Value / 100 * other
		if q.unit == milliseconds {
			allowed = max(allowed, noise)
		}
	}
	switch {
	case worse > allowed:
		return Regressed
	case -worse > allowed:
		return Improved
	}
	return Unchanged
}
