package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scoreboard/scoreboard/loadgen/criteria"
)

// chart is a chart of the page. Its lines are drawn in percent of its width and in
// thousandths of its height, from the top, so that they follow the width of the page while
// the labels keep their size. The page's script draws none: it only changes which part of
// the width is shown.
type chart struct {
	Title, Note string // what is drawn; how to read it
	Lines       []line
	X, Y        []mark
	Limits      []limit
	// Time reports whether x is the time in seconds as in all charts that are
	// zoomed together.
	Time       bool
	start, end float64
}

// line is a line of a chart. Its colour is a CSS class with a light and a dark shade.
type line struct {
	series
	Path string
}

// Label is the name of the line with its unit.
func (l line) Label() string {
	if unit := strings.TrimSpace(l.Unit); unit != "" {
		return l.Name + " (" + unit + ")"
	}
	return l.Name
}

// series are the values of a line, and the names of its points unless x is the time.
type series struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Colour string    `json:"colour"`
	X      []float64 `json:"x"`
	Y      []float64 `json:"y"`
	Points []string  `json:"points,omitempty"`
}

// mark is a label of an axis and its place in percent.
type mark struct {
	At   string
	Text string
}

// limit is a criterion of a whole run, drawn across a chart of what it limits.
type limit struct {
	mark
	Class string // of its colour: bad if it was missed
	value float64
}

// limits are the criteria of latencies, by the beginnings of their names. A criterion that nothing was
// measured for has no line beside it.
func (r *Report) limits(of ...string) []limit {
	var found []limit
	for _, c := range r.lines() {
		parsed, err := criteria.Parse(c.Name+" "+c.Limit, c.Source)
		if err != nil || parsed.Limit <= 0 || c.Measured == nil {
			continue // one that is written in minutes is far above every line
		}
		for _, base := range of {
			quantile, ok := strings.CutPrefix(c.Name, base+".")
			if !ok || quantile != "max" && !strings.HasPrefix(quantile, "p") { // as in api.service.p95
				continue
			}
			l := limit{mark: mark{Text: c.Name + " " + c.shownLimit()}, value: parsed.Limit}
			if c.verdict() == "FAIL" {
				l.Class = "bad"
			}
			found = append(found, l)
		}
	}
	return found
}

// axis maps values to positions.
type axis struct {
	min, max float64
	log      bool
}

// place is the position of a value, from 0 to 1.
func (a axis) place(v float64) float64 {
	if a.log {
		return (math.Log10(max(v, a.min)) - math.Log10(a.min)) / (math.Log10(a.max) - math.Log10(a.min))
	}
	return (v - a.min) / (a.max - a.min)
}

// values are the values of the labels: powers of ten, or round numbers.
func (a axis) values() []float64 {
	var marks []float64
	if a.log {
		for m := a.min; m <= a.max*1.001; m *= 10 {
			marks = append(marks, m)
		}
		return marks
	}
	step := math.Pow(10, math.Floor(math.Log10((a.max-a.min)/5)))
	for _, wider := range []float64{2, 2.5, 2} { // 1, 2, 5 and 10 times
		if (a.max-a.min)/step > 6 {
			step *= wider
		}
	}
	for i := 0.0; a.min+i*step <= a.max*1.001; i++ {
		marks = append(marks, a.min+i*step)
	}
	return marks
}

// marks are the labels with a unit.
func (a axis) marks(unit string) []mark {
	var marks []mark
	for _, v := range a.values() {
		marks = append(marks, mark{decimal(100*a.place(v), 2), tick(v) + unit})
	}
	return marks
}

// yAxis returns an axis for all lines. A log axis starts and ends at powers of ten.
func yAxis(lines []series, log bool) axis {
	lowest, highest := math.Inf(1), 0.0
	for _, s := range lines {
		for _, v := range s.Y {
			highest = max(highest, v)
			if v > 0 {
				lowest = min(lowest, v)
			}
		}
	}
	if highest == 0 {
		lowest, highest = 1, 1
	}
	if !log {
		return axis{0, highest * 1.05, false}
	}
	a := axis{math.Pow(10, math.Floor(math.Log10(lowest))), math.Pow(10, math.Ceil(math.Log10(highest))), true}
	if a.min == a.max {
		a.max *= 10
	}
	return a
}

// plot draws lines, which have the same unit.
func (c chart) plot(x, y axis, lines []series) chart {
	if len(lines) == 0 {
		return c
	}
	c.start, c.end = x.min, x.max
	c.Y = y.marks(lines[0].Unit)
	for _, s := range lines {
		var path strings.Builder
		command := "M"
		for i := range s.X {
			if y.log && s.Y[i] <= 0 { // a gap: nothing was measured
				command = "M"
				continue
			}
			path.WriteString(command + decimal(100*x.place(s.X[i]), 2) + " " + decimal(1000*(1-y.place(s.Y[i])), 1))
			if command == "M" {
				path.WriteString("h0") // a dot, if no other point follows
			}
			command = "L"
		}
		c.Lines = append(c.Lines, line{s, path.String()})
	}
	return c
}

// data is what the page's script shows of a chart: the values at a point.
func (c chart) data() map[string]any {
	all := make([]series, len(c.Lines))
	for i, l := range c.Lines {
		all[i] = l.series
		all[i].Y = make([]float64, len(l.Y))
		for k, v := range l.Y {
			all[i].Y[k], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
		}
	}
	return map[string]any{"time": c.Time, "start": c.start, "end": c.end, "lines": all}
}

// decimal formats a number without trailing zeros.
func decimal(v float64, digits int) string {
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// tick formats a label.
func tick(v float64) string {
	switch {
	case v >= 10_000:
		return fmt.Sprintf("%gk", math.Round(v/100)/10)
	case v >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// The colours of the lines, distinguishable with colour blindness. They are defined
// in the page's style sheet.
const blue, orange, green, grey = "blue", "orange", "green", "grey"

// charts draws the run, and in grey the latency of the run that it is compared with.
func (r *Report) charts() []chart {
	other := r.comparedWith()
	var at, target, sent, failed, p50, p95, p99, depth, oldest, lag, toRedis, toClient []float64
	for _, s := range r.Timeline {
		at, target = append(at, s.At), append(target, s.Target)
		sent, failed = append(sent, s.Sent), append(failed, s.Errors)
		p50, p95, p99 = append(p50, s.P50), append(p95, s.P95), append(p99, s.P99)
		depth, oldest = append(depth, float64(s.OutboxDepth)), append(oldest, float64(s.OldestMS))
		lag = append(lag, float64(s.Lag))
		toRedis, toClient = append(toRedis, s.Redis), append(toClient, s.Client)
	}
	x := axis{0, max(r.Seconds, 1), false}
	if other != nil {
		x.max = max(x.max, other.Seconds)
	}
	var charts []chart
	draw := func(title, note string, log bool, limits []limit, lines ...series) {
		if log { // 0 is not on it: such a line was not measured
			lines = slices.DeleteFunc(lines, func(s series) bool { return len(s.Y) == 0 || slices.Max(s.Y) <= 0 })
		}
		if len(lines) == 0 {
			return
		}
		for i := range lines {
			if lines[i].X == nil {
				lines[i].X = at
			}
		}
		c := chart{Title: title, Note: note, X: x.marks(" s"), Time: true, Limits: limits}
		shown := slices.Clone(lines)
		for _, l := range limits {
			shown = append(shown, series{Y: []float64{l.value}})
		}
		y := yAxis(shown, log)
		for i := range c.Limits {
			c.Limits[i].At = decimal(100*y.place(c.Limits[i].value), 2)
		}
		charts = append(charts, c.plot(x, y, lines))
	}
	width := r.sliceText()
	latency := []series{
		{Name: "p99", Unit: milliseconds, Colour: orange, Y: p99},
		{Name: "p95", Unit: milliseconds, Colour: green, Y: p95},
		{Name: "p50", Unit: milliseconds, Colour: blue, Y: p50},
	}
	if other != nil {
		was := series{Name: "p99 of the other run", Unit: milliseconds, Colour: grey, X: []float64{}}
		for _, s := range other.Timeline {
			was.X, was.Y = append(was.X, s.At), append(was.Y, s.P99)
		}
		latency = append([]series{was}, latency...) // below the others
	}
	draw("Latency of increments", "from scheduled time; percentiles "+width+"; logarithmic", true, r.limits(api),
		latency...)
	if c := r.percentiles(); len(c.Lines) > 0 {
		charts = append(charts, c)
	}
	draw("Requests", "per second, by scheduled time; average "+width, false, nil,
		series{Name: "target", Unit: perSecond, Colour: grey, Y: target},
		series{Name: "sent", Unit: perSecond, Colour: blue, Y: sent},
		series{Name: "failed", Unit: perSecond, Colour: orange, Y: failed})
	draw("Freshness", "from commit until visible; slowest sample "+width+"; logarithmic", true,
		r.limits(redis, client),
		series{Name: "in Redis", Unit: milliseconds, Colour: green, Y: toRedis},
		series{Name: "by clients", Unit: milliseconds, Colour: blue, Y: toClient})
	draw("Backlog", "number of rows and records at the end "+width, false, nil,
		series{Name: "rows in the outbox", Colour: blue, Y: depth},
		series{Name: "records to consume", Colour: green, Y: lag})
	draw("Age of the outbox", "its oldest row, at the end "+width, false, nil,
		series{Name: "oldest row", Unit: milliseconds, Colour: orange, Y: oldest})
	return charts
}

// sliceText says what a point of a chart over time covers.
func (r *Report) sliceText() string {
	if len(r.Timeline) > 1 && r.Timeline[1].At > 1 {
		return fmt.Sprintf("of each %.0f s", r.Timeline[1].At)
	}
	return "of each second"
}

// percentiles draws latency by percentile. Each additional nine has the same
// width.
func (r *Report) percentiles() chart {
	var lines []series
	add := func(name, colour string, l Latency) {
		if l.N == 0 {
			return
		}
		lines = append(lines, series{
			Name: name, Unit: milliseconds, Colour: colour,
			X:      []float64{math.Log10(2), 1, math.Log10(20), 2, 3, 4},
			Y:      []float64{l.P50, l.P90, l.P95, l.P99, l.P999, l.P9999},
			Points: []string{"p50", "p90", "p95", "p99", "p99.9", "p99.99"},
		})
	}
	add("increments from scheduled time", blue, r.Latency)
	add("increments from send time", grey, r.Service)
	add("reads from scheduled time", green, r.Reads)
	if other := r.comparedWith(); other != nil {
		add("increments of the other run", orange, other.Latency)
	}
	x := axis{math.Log10(2), 4, false}
	c := chart{Title: "Latency by percentile", Note: "of the whole run; logarithmic", X: []mark{{"0", "p50"}}}
	for i, name := range []string{"p90", "p99", "p99.9", "p99.99"} {
		c.X = append(c.X, mark{decimal(100*x.place(float64(i+1)), 2), name})
	}
	return c.plot(x, yAxis(lines, true), lines)
}

// comparedWith is the run that this one is compared with, if they are comparable.
func (r *Report) comparedWith() *Report {
	if r.Comparison == nil || r.Comparison.Verdict == Incomparable {
		return nil
	}
	return r.Comparison.other
}
