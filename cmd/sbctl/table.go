package main

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

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

// withoutEmpty drops the column of a heading if no row has anything in it.
func (t *table) withoutEmpty(heading string) *table {
	x := slices.Index(t.headings, heading)
	if slices.ContainsFunc(t.rows, func(row []string) bool { return row[x] != "" }) {
		return t
	}
	t.headings = slices.Delete(t.headings, x, x+1)
	for i := range t.rows {
		t.rows[i] = slices.Delete(t.rows[i], x, x+1)
	}
	right := make(map[int]bool, len(t.right))
	for column := range t.right {
		if column < x {
			right[column] = true
		} else if column > x {
			right[column-1] = true
		}
	}
	t.right = right
	return t
}

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

// render is the table without borders and trailing spaces. With the zero style, a pipe's,
// it has no colours. Cells are escaped.
func (t *table) render(with style) string {
	rows := t.rows
	if t.headings != nil {
		rows = append([][]string{t.headings}, rows...)
	}
	var widths []int
	for y, row := range rows {
		for x, cell := range row {
			cell = scoreboard.Escape(cell)
			if with.marks && t.isStatus(row, x) && (t.headings == nil || y > 0) {
				cell = marked(cell, t.headings != nil)
			}
			row[x] = cell
			if x == len(widths) {
				widths = append(widths, 0)
			}
			widths[x] = max(widths[x], ansi.StringWidth(cell))
		}
	}
	var b strings.Builder
	for y, row := range rows {
		var line strings.Builder
		for x, cell := range row {
			padding := strings.Repeat(" ", widths[x]-ansi.StringWidth(cell))
			if with.colors {
				cell = t.colored(with, cell, row, x, y)
			}
			if x > 0 {
				line.WriteString("  ")
			}
			if t.right[x] {
				line.WriteString(padding + cell)
			} else {
				line.WriteString(cell + padding)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// isStatus reports whether a cell is a status: by its heading, or its label in a table
// without headings.
func (t *table) isStatus(row []string, x int) bool {
	if t.headings == nil {
		return x == 1 && statusColumns[row[0]]
	}
	return x < len(t.headings) && statusColumns[strings.ToLower(t.headings[x])]
}

// marked puts the mark of a status before it. In a column, statuses without a mark align.
func marked(cell string, column bool) string {
	switch v := verdictOf(cell); {
	case v != "":
		return string(v) + " " + cell
	case column && cell != "":
		return "  " + cell
	}
	return cell
}

func (t *table) colored(with style, cell string, row []string, x, y int) string {
	switch {
	case t.headings != nil && y == 0, t.headings == nil && x == 0:
		return with.heading.Render(cell)
	case t.isStatus(row, x):
		mark, _, _ := strings.Cut(cell, " ")
		if s, ok := with.verdict[verdict(mark)]; ok {
			return s.Render(cell)
		}
		if s, ok := with.verdict[verdictOf(cell)]; ok {
			return s.Render(cell)
		}
	}
	return cell
}
