package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// table gathers what was measured beside what is wanted.
type table struct{ rows []row }

type row struct {
	what, measured, goal string
	missed               bool
}

// below adds a figure that is to be at most limit.
func (t *table) below(what, unit string, measured, limit float64) {
	t.rows = append(t.rows, row{what, fmt.Sprintf("%.4g %s", measured, unit), fmt.Sprintf("≤ %g %s", limit, unit), measured > limit})
}

// note adds a figure that nothing is asked of.
func (t *table) note(what, measured string) {
	t.rows = append(t.rows, row{what: what, measured: measured})
}

// print writes the table for people, as Markdown.
func (t *table) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| what\t| measured\t| goal\t|\t|\n|---\t|---\t|---\t|---\t|")
	for _, r := range t.rows {
		verdict := ""
		switch {
		case r.missed:
			verdict = "MISSED"
		case r.goal != "":
			verdict = "met"
		}
		fmt.Fprintf(w, "| %s\t| %s\t| %s\t| %s\t|\n", r.what, r.measured, r.goal, verdict)
	}
	_ = w.Flush() // a terminal that is gone has nobody to tell
}
