package main

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
)

// animate returns a drawing that shows screens one after the other, each for a time, again and
// again. The part of a row within a pane is drawn once, however many screens have it. Without
// animation the first one shows.
func animate(screens []string, every time.Duration) string {
	all := make([][][]cell, len(screens))
	for i, screen := range screens {
		all[i] = parse(strings.Trim(screen, "\n"))
	}
	var b, frames strings.Builder
	open(&b, all)
	b.WriteString("<defs>\n")
	parts := make(map[string]int)
	total := float64(len(screens)) * every.Seconds()
	for i, screen := range all {
		if i == 0 {
			frames.WriteString("<g>\n")
		} else {
			fmt.Fprintf(&frames, `<g visibility="hidden">%s<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n",
				shown(i, len(screens), total), background)
		}
		for y, row := range screen {
			for column, part := range panes(row) {
				var drawn strings.Builder
				if drawRow(&drawn, part, 0); drawn.Len() == 0 {
					continue
				}
				id, known := parts[drawn.String()]
				if !known {
					id = len(parts)
					parts[drawn.String()] = id
					fmt.Fprintf(&b, `<g id="r%d">`+"\n%s</g>\n", id, drawn.String())
				}
				fmt.Fprintf(&frames, `<use href="#r%d" x="%s" y="%s"/>`+"\n", id,
					number(float64(column)*cellWidth), number(margin+float64(y)*cellHeight))
			}
		}
		frames.WriteString("</g>\n")
	}
	b.WriteString("</defs>\n" + frames.String() + "</g>\n</svg>\n")
	return b.String()
}

// shown is the animation of the nth of some screens, which last total seconds together.
func shown(n, screens int, total float64) string {
	at := func(i int) string { return strconv.FormatFloat(float64(i)/float64(screens), 'f', 5, 64) }
	values, times := "hidden;visible;hidden", "0;"+at(n)+";"+at(n+1)
	if n == screens-1 {
		values, times = "hidden;visible", "0;"+at(n)
	}
	return fmt.Sprintf(`<animate attributeName="visibility" values="%s" keyTimes="%s" dur="%ss" calcMode="discrete" `+
		`repeatCount="indefinite"/>`, values, times, number(total))
}

// panes are the parts of a row before, between and behind vertical lines, by their columns.
func panes(row []cell) iter.Seq2[int, []cell] {
	return func(yield func(int, []cell) bool) {
		from := 0
		for i := range row {
			if row[i].text == "│" && i > from {
				if !yield(from, row[from:i]) {
					return
				}
				from = i
			}
		}
		if from < len(row) {
			yield(from, row[from:])
		}
	}
}
