package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// print writes a result: the value itself with --output json, else its table.
func (p *program) print(value any, table func() *table) error {
	if p.output == "json" {
		encoder := json.NewEncoder(&jsonEscaper{w: p.stdout})
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	}
	t := table()
	if t.headings != nil && len(t.rows) == 0 {
		p.infof("no results")
	}
	return t.write(p.stdout)
}

// infof prints a message on stderr, unless --quiet.
func (p *program) infof(format string, args ...any) {
	if !p.quiet {
		fmt.Fprintf(p.stderr, format+"\n", escapeArgs(args)...)
	}
}

// ordinal is a rank in words: 1st, 2nd, 3rd, 11th, 82nd.
func ordinal(n int64) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

func yesOrNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// table is a result in columns. Without headings, the first column of each row is
// its label.
type table struct {
	headings []string
	right    map[int]bool // columns of numbers, aligned right
	rows     [][]string
}

// newTable takes the headings; the prefix ">" marks a column of numbers.
func newTable(headings ...string) *table {
	t := &table{headings: headings, right: map[int]bool{}}
	for i, h := range headings {
		if name, ok := strings.CutPrefix(h, ">"); ok {
			headings[i], t.right[i] = name, true
		}
	}
	return t
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// rename replaces a heading or a label.
func (t *table) rename(from, to string) *table {
	for i, h := range t.headings {
		if h == from {
			t.headings[i] = to
		}
	}
	for _, row := range t.rows {
		if t.headings == nil && row[0] == from {
			row[0] = to
		}
	}
	return t
}

// write prints the table without borders, colours and trailing spaces, so that a
// pipe gets the same text as a terminal. Cells are escaped.
func (t *table) write(w io.Writer) error {
	rows := t.rows
	if t.headings != nil {
		rows = append([][]string{t.headings}, rows...)
	}
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			cell = scoreboard.Escape(cell)
			row[i] = cell
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			padding := strings.Repeat(" ", widths[i]-ansi.StringWidth(cell))
			if i > 0 {
				line.WriteString("  ")
			}
			if t.right[i] {
				line.WriteString(padding + cell)
			} else {
				line.WriteString(cell + padding)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
