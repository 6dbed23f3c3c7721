// Package docpage reads the commands of a page of the docs, so that a test can run them.
package docpage

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Page is a page of the docs.
type Page struct {
	Commands map[string][]string // the lines of its blocks marked as sh, by heading
	Output   string              // the blocks without a mark
	Go       string              // the blocks marked as go
	SQL      string              // the blocks marked as sql
	Rows     [][]string          // the cells of its tables
}

// Read reads the page at a path in the repository, whose root is at root.
func Read(t testing.TB, root, path string) Page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	p := Page{Commands: map[string][]string{}}
	heading, block := "", "" // block is the fence of the one that the line is in
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "```" && block != "":
			block = ""
		case block == "```sh":
			p.Commands[heading] = append(p.Commands[heading], line)
		case block == "```":
			p.Output += line + "\n"
		case block == "```go":
			p.Go += line + "\n"
		case block == "```sql":
			p.SQL += line + "\n"
		case block != "":
		case strings.HasPrefix(line, "```"):
			block = line
		case strings.HasPrefix(line, "## "):
			heading = strings.TrimPrefix(line, "## ")
		case strings.HasPrefix(line, "| "):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			p.Rows = append(p.Rows, cells)
		}
	}
	return p
}

// Script joins the commands under some headings, and requires that the other headings
// with commands are those of others.
func (p *Page) Script(t testing.TB, headings, others []string) string {
	t.Helper()
	var lines []string
	for _, h := range headings {
		if len(p.Commands[h]) == 0 {
			t.Errorf("the page has no commands under %q", h)
		}
		lines = append(lines, p.Commands[h]...)
	}
	for h := range p.Commands {
		if !slices.Contains(headings, h) && !slices.Contains(others, h) {
			t.Errorf("the commands under %q are not run", h)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
