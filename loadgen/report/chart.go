package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

// The size of a chart and of its margins.
const (
	chartWidth, chartHeight = 720.0, 220.0
	left, right             = 56.0, 30.0
	top, bottom             = 10.0, 24.0
)

// series is a line of a chart. Its colour is a CSS class, which has a light and a
// dark shade.
type series struct {
	name, colour string
	x, y         []float64
}

// axis maps values to positions.
type axis struct {
	min, max float64
	log      bool
	unit     string
}

// place is the position of a value, from 0 to 1.
func (a axis) place(v float64) float64 {
	if a.log {
		return (math.Log10(max(v, a.min)) - math.Log10(a.min)) / (math.Log10(a.max) - math.Log10(a.min))
	}
	return (v - a.min) / (a.max - a.min)
}

// marks are the values of the labels: powers of ten, or round numbers.
func (a axis) marks() []float64 {
	var marks []float64
	if a.log {
		for m := a.min; m <= a.max*1.001; m *= 10 {
			marks = append(marks, m)
		}
		return marks
	}
	step := math.Pow(10, math.Floor(math.Log10((a.max-a.min)/2)))
	for _, wider := range []float64{2, 2.5, 2} { // 1, 2, 5 and 10 times
		if (a.max-a.min)/step > 6 {
			step *= wider
		}
	}
	for m := a.min; m <= a.max*1.001; m += step {
		marks = append(marks, m)
	}
	return marks
}

// yAxis returns an axis for all lines. A log axis starts and ends at powers of ten.
func yAxis(lines []series, log bool, unit string) axis {
	lowest, highest := math.Inf(1), 0.0
	for _, s := range lines {
		for _, v := range s.y {
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
		return axis{0, highest * 1.05, false, unit}
	}
	a := axis{math.Pow(10, math.Floor(math.Log10(lowest))), math.Pow(10, math.Ceil(math.Log10(highest))), true, unit}
	if a.min == a.max {
		a.max *= 10
	}
	return a
}

// chart draws lines as SVG. xText formats a label of the x axis.
func chart(
	title string, x axis, xMarks []float64, xText func(float64) string, y axis, lines []series,
) template.HTML {
	var b strings.Builder
	w, h := chartWidth-left-right, chartHeight-top-bottom
	px := func(v float64) float64 { return left + w*x.place(v) }
	py := func(v float64) float64 { return top + h*(1-y.place(v)) }
	fmt.Fprintf(&b, `<figure><figcaption>%s`, html.EscapeString(title))
	for _, s := range lines {
		fmt.Fprintf(&b, ` <span class="%s">■ %s</span>`, s.colour, html.EscapeString(s.name))
	}
	fmt.Fprintf(&b, `</figcaption><div class="wide"><svg viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`,
		chartWidth, chartHeight, html.EscapeString(title))
	for _, m := range y.marks() {
		fmt.Fprintf(&b, `<path class="grid" d="M%.1f %.1fH%.1f"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`,
			left, py(m), chartWidth-right, left-4, py(m)+4, tick(m)+y.unit)
	}
	for _, m := range xMarks {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, px(m), chartHeight-6, xText(m))
	}
	for _, s := range lines {
		if len(s.x) == 0 {
			continue
		}
		fmt.Fprintf(&b, `<path class="line %s" d="`, s.colour)
		command := "M"
		for i := range s.x {
			if y.log && s.y[i] <= 0 { // a gap: nothing was measured
				command = "M"
				continue
			}
			fmt.Fprintf(&b, "%s%.1f %.1f", command, px(s.x[i]), py(s.y[i]))
			command = "L"
		}
		b.WriteString(`"/>`)
	}
	b.WriteString(`</svg></div></figure>`)
	return template.HTML(b.String()) // its texts are escaped above
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
