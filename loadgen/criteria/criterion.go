package criteria

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// unit is the unit of a quantity.
type unit int

const (
	count unit = iota
	perSecond
	percent
	duration // measured in milliseconds
)

// quantities are the quantities that can be measured, with their units. Latencies
// are separate: their names end with a quantile.
var quantities = map[string]unit{
	"increments.rate": perSecond, "increments.peak": perSecond, "reads.rate": perSecond, "duration": duration,
	"samples": count, "errors": percent, "behind": percent,
	"lost": count, "doubled": count, "unresolved": count, "rejected.recorded": count,
	"acks.recorded": percent, "replays.rejected": percent, "conflicts.rejected": percent,
	"signatures.rejected": percent, "limits.enforced": percent,
	"top.correct": percent, "me.correct": percent, "audit.found": percent, "metrics.found": percent,
	"alerts.loaded": percent, "faults.done": percent, "drained": duration,
}

var (
	latencies = []string{"api", "api.service", "reads", "late", "freshness.redis", "freshness.client", "redis"}
	// Quantiles are the reported quantiles.
	Quantiles = []struct {
		Name string
		Q    float64
	}{{"p50", 50}, {"p90", 90}, {"p95", 95}, {"p99", 99}, {"p99.9", 99.9}, {"p99.99", 99.99}, {"max", 100}}
)

// unitOf returns the unit of a quantity.
func unitOf(name string) (unit, bool) {
	if u, known := quantities[name]; known {
		return u, true
	}
	for _, q := range Quantiles {
		if base, ok := strings.CutSuffix(name, "."+q.Name); ok && slices.Contains(latencies, base) {
			return duration, true
		}
	}
	return 0, false
}

// IsRate reports whether the criterion limits a rate, which concerns all
// generators together.
func (c Criterion) IsRate() bool { return c.unit == perSecond }

// IsDuration reports whether the criterion limits a time, in milliseconds.
func (c Criterion) IsDuration() bool { return c.unit == duration }

// DependsOnMachine reports whether a quantity gets worse on a machine that is too weak for the load:
// rates, times, errors and how far the generator is behind. What is lost or doubled does not.
func (c Criterion) DependsOnMachine() bool {
	return c.unit == perSecond || c.unit == duration || c.Name == "errors" || c.Name == "behind"
}

// IsShare reports whether a quantity is a percentage.
func IsShare(name string) bool {
	u, known := unitOf(name)
	return known && u == percent
}

// Combine combines the results of two parts of a run: counts and rates add up; of
// percentages and durations it keeps the worse one.
func Combine(name string, a, b float64) float64 {
	switch u, _ := unitOf(name); u {
	case percent:
		return min(a, b)
	case duration:
		return max(a, b)
	}
	return a + b
}

// Criterion is one limit.
type Criterion struct {
	Name   string
	Op     string
	Limit  float64 // in the unit of the quantity; durations in milliseconds
	Source string  // of the requirement
	unit   unit
}

// percentile is how k6 and the users who come from it name a percentile of the latency.
var percentile = regexp.MustCompile(`^p\(([0-9.]+)\)`)

var grammar = regexp.MustCompile(`^([a-z0-9.]+)\s*(<=|>=|==|<|>)\s*([0-9.]+)\s*([a-z%/]*)$`)

// Parse parses a criterion. "p(95)" stands for "api.p95", as k6 writes it.
func Parse(text, source string) (Criterion, error) {
	c, err := parse(strings.TrimSpace(text))
	if err != nil {
		return c, fmt.Errorf("criterion %q: %w", text, err)
	}
	c.Source = source
	return c, nil
}

func parse(text string) (Criterion, error) {
	m := grammar.FindStringSubmatch(percentile.ReplaceAllString(text, "api.p$1"))
	if m == nil {
		return Criterion{}, errors.New("want NAME <=|>=|==|<|> NUMBER UNIT, such as p(95)<200ms or errors<1%")
	}
	c := Criterion{Name: m[1], Op: m[2]}
	var known bool
	if c.unit, known = unitOf(c.Name); !known {
		return c, fmt.Errorf("unknown quantity %q", c.Name)
	}
	number, suffix := m[3], m[4]
	var err error
	switch c.unit {
	case duration:
		if suffix == "" || suffix == "%" {
			return c, fmt.Errorf("%s is a duration: its limit needs a unit, as in %sms", c.Name, number)
		}
		var d time.Duration
		d, err = time.ParseDuration(number + suffix)
		c.Limit = float64(d) / float64(time.Millisecond)
	case percent:
		if suffix != "%" {
			return c, fmt.Errorf("%s is a percentage: its limit needs a unit, as in %s%%", c.Name, number)
		}
		c.Limit, err = strconv.ParseFloat(number, 64)
	default:
		if suffix != "" {
			return c, fmt.Errorf("%s is a number: its limit must not have a unit", c.Name)
		}
		c.Limit, err = strconv.ParseFloat(number, 64)
	}
	if err != nil {
		return c, fmt.Errorf("%q is not a number", number+suffix)
	}
	return c, nil
}

// Evaluate returns the measured value and whether it meets the limit. A quantity
// that was not measured has no value and does not pass.
func (c Criterion) Evaluate(m map[string]float64) (value *float64, pass bool) {
	v, ok := m[c.Name]
	if !ok {
		return nil, false
	}
	switch c.Op {
	case "<":
		pass = v < c.Limit
	case "<=":
		pass = v <= c.Limit
	case ">":
		pass = v > c.Limit
	case ">=":
		pass = v >= c.Limit
	default:
		pass = v == c.Limit
	}
	return &v, pass
}

// LimitText is the limit, such as "<= 200ms".
func (c Criterion) LimitText() string { return c.Op + " " + c.Format(c.Limit) }

// String formats the criterion for Parse.
func (c Criterion) String() string {
	limit := strconv.FormatFloat(c.Limit, 'f', -1, 64)
	switch c.unit {
	case duration:
		limit += "ms"
	case percent:
		limit += "%"
	}
	return c.Name + " " + c.Op + " " + limit
}

// Format formats a measured value with its unit.
func (c Criterion) Format(v float64) string {
	switch c.unit {
	case percent:
		return short(v) + "%"
	case duration:
		if v >= 10_000 {
			return time.Duration(v * float64(time.Millisecond)).Round(100 * time.Millisecond).String()
		}
		return short(v) + "ms"
	}
	return short(v)
}

// short formats a number with up to three decimals.
func short(v float64) string {
	s := strconv.FormatFloat(v, 'f', 3, 64)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}
