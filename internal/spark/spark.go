// Package spark draws values as columns of text.
package spark

import "strings"

// Blocks are the steps of a line of text, lowest first.
var Blocks = []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// Columns draws values from 0 to a top as columns of some height in lines, the highest line first. A value up
// to 0 is blank, one above it has at least the lowest step, and one above the top ends there.
func Columns(values []float64, top float64, height int, steps []string) []string {
	lines := make([]string, height)
	all := float64(height * len(steps))
	for row := range lines {
		var b strings.Builder
		below := (height - 1 - row) * len(steps)
		for _, v := range values {
			level := 0
			if v > 0 {
				level = 1 + int(min(v/top*all, all-1))
			}
			if level = min(level-below, len(steps)); level <= 0 {
				b.WriteByte(' ')
				continue
			}
			b.WriteString(steps[level-1])
		}
		lines[row] = b.String()
	}
	return lines
}
