package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

// The size of a chart and of the margins that hold its axes.
const (
	chartWidth, chartHeight = 720.0, 220.0
	left, right             = 56.0, 30.0
	top, bottom             = 10.0, 24.0
)

// series is a line of a chart. Its colour is a class of the page, which has one
// shade on white and one on black.
type series struct {
	name, colour string
	x, y         []float64
}

// axis maps values to a place between two ends.
type axis struct {
	least, most float64
	log         bool
	unit        string
}

// place is where a value lies: 0 at the least, 1 at the most.
func (a axis) place(v float64) float64 {
	if a.log {
		return (math.Log10(max(v, a.least)) - math.Log10(a.least)) / (math.Log10(a.most) - math.Log10(a.least))
	}
	return (v - a.least) / (a.most - a.least)
}

// marks are where the axis is labelled: the powers of ten, or round numbers.
func (a axis) marks() []float64 {
	var marks []float64
	if a.log {
		for m := a.least; m <= a.most*1.001; m *= 10 {
			marks = append(marks, m)
		}
		return marks
	}
	step := math.Pow(10, math.Floor(math.Log10((a.most-a.least)/2)))
	for _, wider := range []float64{2, 2.5, 2} { // 1, 2, 5 and 10 times
		if (a.most-a.least)/step > 6 {
			step *= wider
		}
	}
	for m := a.least; m <= a.most*1.001; m += step {
		marks = append(marks, m)
	}
	return marks
}

// yAxis holds all lines; a log axis begins and ends at powers of ten.
func yAxis(lines []series, log bool, unit string) axis {
	least, most := math.Inf(1), 0.0
	for _, s := range lines {
		for _, v := range s.y {
			most = max(most, v)
			if v > 0 {
				least = min(least, v)
			}
		}
	}
	if most == 0 {
		least, most = 1, 1
	}
	if !log {
		return axis{0, most * 1.05, false, unit}
	}
	a := axis{math.Pow(10, math.Floor(math.Log10(least))), math.Pow(10, math.Ceil(math.Log10(most))), true, unit}
	if a.least == a.most {
		a.most *= 10
	}
	return a
}

// chart draws lines as SVG. xText labels a place on the x axis.
func chart(title string, x axis, xMarks []float64, xText func(float64) string, y axis, lines []series) template.HTML {
	var b strings.Builder
	w, h := chartWidth-left-right, chartHeight-top-bottom
	px := func(v float64) float64 { return left + w*x.place(v) }
	py := func(v float64) float64 { return top + h*(1-y.place(v)) }
	fmt.Fprintf(&b, `<figure><figcaption>%s`, html.EscapeString(title))
	for _, s := range lines {
		fmt.Fprintf(&b, ` <span class="%s">■ %s</span>`, s.colour, html.EscapeString(s.name))
	}
	fmt.Fprintf(&b, `</figcaption><div class="wide"><svg viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`, chartWidth, chartHeight, html.EscapeString(title))
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
			if y.log && s.y[i] <= 0 { // nothing was measured: a gap
				command = "M"
				continue
			}
			fmt.Fprintf(&b, "%s%.1f %.1f", command, px(s.x[i]), py(s.y[i]))
			command = "L"
		}
		b.WriteString(`"/>`)
	}
	b.WriteString(`</svg></div></figure>`)
	return template.HTML(b.String()) // its text is escaped above
}

// tick writes a label in few characters.
func tick(v float64) string {
	switch {
	case v >= 10_000:
		return fmt.Sprintf("%gk", math.Round(v/100)/10)
	case v >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}
