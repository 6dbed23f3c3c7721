package main

import (
	"fmt"
	"math"
	"strings"
)

// Sizes of a panel in pixels; panels lie side by side.
const (
	panelWidth, panelHeight = 200, 150
	plotLeft, plotTop       = 44, 28
	plotWidth, plotHeight   = 140, 84
)

// drawCurves draws a panel for each curve: CPU time by the logarithm of the size, on one scale from 0.
func drawCurves(curves []curve) string {
	top := 0.0
	for _, c := range curves {
		for _, p := range c.points {
			top = max(top, p.cost)
		}
	}
	top = math.Ceil(top/100) * 100
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d">
<style>
text { fill: #333; font: 10px sans-serif } path { fill: none; stroke: #999 }
.curve { stroke: #1a6fb5; stroke-width: 2 } circle { fill: #1a6fb5 }
@media (prefers-color-scheme: dark) { text { fill: #ccc } .curve { stroke: #6ab7f5 } circle { fill: #6ab7f5 } }
</style>
<title>CPU time of an increment, µs, by nodes, users, boards and rows</title>
`, panelWidth*len(curves), panelHeight)
	for i, c := range curves {
		left := i*panelWidth + plotLeft
		fmt.Fprintf(&b, `<text x="%d" y="16" font-weight="bold">CPU µs by %s</text>`+"\n", left, c.what)
		fmt.Fprintf(&b, `<path d="M%d %dv%dh%d"/>`+"\n", left, plotTop, plotHeight, plotWidth)
		const label = `<text x="%d" y="%d" text-anchor="end">%.0f</text>` + "\n"
		fmt.Fprintf(&b, label, left-5, plotTop+4, top)
		fmt.Fprintf(&b, label, left-5, plotTop+plotHeight+3, 0.0)
		first, last := math.Log(float64(c.points[0].size)), math.Log(float64(c.points[len(c.points)-1].size))
		path := make([]string, 0, len(c.points))
		for _, p := range c.points {
			x := float64(left) + plotWidth*(math.Log(float64(p.size))-first)/max(last-first, 1e-9)
			y := plotTop + plotHeight*(1-p.cost/top)
			path = append(path, fmt.Sprintf("%.1f %.1f", x, y))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3"><title>%d: %.0f µs</title></circle>`+"\n",
				x, y, p.size, p.cost)
			fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x, plotTop+plotHeight+15,
				shortCount(p.size))
		}
		fmt.Fprintf(&b, `<path class="curve" d="M%s"/>`+"\n", strings.Join(path, "L"))
	}
	return b.String() + "</svg>\n"
}

// shortCount is a count in thousands or millions where it has them.
func shortCount(n int) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%d M", n/1_000_000)
	case n >= 1000:
		return fmt.Sprintf("%d k", n/1000)
	}
	return fmt.Sprint(n)
}
