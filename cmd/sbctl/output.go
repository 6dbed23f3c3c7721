package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// print writes a result: with --output json the value itself, else the table
// that is made of it.
func (p *program) print(value any, table func() *table) error {
	if p.output == "json" {
		encoder := json.NewEncoder(p.stdout)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	}
	t := table()
	if t.headed && len(t.rows) == 1 {
		p.say("there is nothing to list")
	}
	return t.write(p.stdout)
}

// say tells a person what is going on, on stderr, unless --quiet.
func (p *program) say(format string, args ...any) {
	if !p.quiet {
		fmt.Fprintf(p.stderr, format+"\n", args...)
	}
}

// confirm asks before something is destroyed. Without a terminal only --yes
// answers. Ctrl-C is an answer, too.
func (p *program) confirm(ctx context.Context, question string) error {
	if p.yes {
		return nil
	}
	if !isTerminal(p.stdin) {
		return usagef("%s There is nobody to ask; say --yes", question)
	}
	fmt.Fprintf(p.stderr, "%s [y/N] ", question)
	answered := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(p.stdin).ReadString('\n')
		answered <- strings.ToLower(strings.TrimSpace(answer))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(p.stderr)
		return ctx.Err()
	case a := <-answered:
		if a == "y" || a == "yes" {
			return nil
		}
		return errors.New("not confirmed")
	}
}

// table is columns of text, as wide as their widest cell.
type table struct {
	right map[int]bool // columns of numbers, flush right
	rows  [][]string

	headed bool // the first row is headings
}

// newTable takes the headings; those that begin with ">" are of numbers.
func newTable(headings ...string) *table {
	t := &table{right: map[int]bool{}}
	for i, h := range headings {
		if name, ok := strings.CutPrefix(h, ">"); ok {
			headings[i], t.right[i] = name, true
		}
	}
	if t.headed = len(headings) > 0; t.headed {
		t.add(headings...)
	}
	return t
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// rename calls a heading, or a row without headings, something else.
func (t *table) rename(from, to string) *table {
	for i, row := range t.rows {
		for j := range row {
			if (i == 0 || j == 0) && row[j] == from {
				row[j] = to
			}
		}
	}
	return t
}

func (t *table) write(w io.Writer) error {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-ansi.StringWidth(cell))
			if i > 0 {
				line.WriteString("  ")
			}
			if t.right[i] {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
