package realtime

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// table collects measurements and their goals.
type table struct{ rows []row }

type row struct {
	name, measured, goal string
	missed               bool
}

// below adds a measurement with an upper limit.
func (t *table) below(name, unit string, measured, limit float64) {
	t.rows = append(t.rows, row{
		name, fmt.Sprintf("%.4g %s", measured, unit), fmt.Sprintf("≤ %g %s", limit, unit), measured > limit,
	})
}

// note adds a measurement without a goal.
func (t *table) note(name, measured string) {
	t.rows = append(t.rows, row{name: name, measured: measured})
}

// print writes the table as Markdown.
func (t *table) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| measurement\t| measured\t| goal\t|\t|\n|---\t|---\t|---\t|---\t|")
	for _, r := range t.rows {
		verdict := ""
		switch {
		case r.missed:
			verdict = "MISSED"
		case r.goal != "":
			verdict = "met"
		}
		fmt.Fprintf(w, "| %s\t| %s\t| %s\t| %s\t|\n", r.name, r.measured, r.goal, verdict)
	}
	_ = w.Flush() // output to a terminal
}
