package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/scoreboard/scoreboard/internal/english"
)

// Write writes report.json, report.html and, for CI, summary.md and junit.xml into a folder, which it creates.
func (r *Report) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer) error{
		"report.json": r.JSON, "report.html": r.HTML, "summary.md": r.Markdown, "junit.xml": r.JUnit,
	} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := errors.Join(write(f), f.Close()); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// JSON writes the report as JSON.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// Histogram writes the latency of increments in milliseconds, in the format of
// HdrHistogram's tools.
func (b *Builder) Histogram(w io.Writer) error {
	_, err := b.latency[api].PercentilesPrint(w, 5, 1000)
	return err
}

// Text writes the report as text. It ends with the table of criteria.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%.1f s of traffic: %s scheduled, %d sent, %d succeeded\n",
		r.Seconds, english.Count(r.Scheduled, "request"), r.Sent, r.Succeeded)
	fmt.Fprintf(&b, "%.1f increments and %.1f reads per second\n", r.Rate, r.ReadsRate)
	fmt.Fprintf(&b, "responses: %s\n", r.responses())
	if r.Shards != "" {
		fmt.Fprintf(&b, "from %s generators\n", r.Shards)
	}
	if r.CutOff > 0 {
		fmt.Fprintf(&b, "%s cut off on purpose\n", english.Count(r.CutOff, "request"))
	}
	if r.Cut {
		b.WriteString("the run was ended early\n")
	}
	fmt.Fprintf(&b, "\n%-32s %9s %9s %9s %9s %9s %9s\n", "in ms", "p50", "p95", "p99", "p99.9", "p99.99", "max")
	for _, row := range r.rows() {
		if row.l.N > 0 {
			fmt.Fprintf(&b, "%-32s %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f\n",
				row.name, row.l.P50, row.l.P95, row.l.P99, row.l.P999, row.l.P9999, row.l.Max)
		}
	}
	if len(r.Errors) > 0 {
		b.WriteByte('\n')
	}
	for _, e := range r.Errors {
		fmt.Fprintf(&b, "%8d x %s\n", e.N, e.What)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	b.WriteByte('\n')
	width, shown := 0, 0
	for _, c := range r.lines() {
		width, shown = max(width, len(c.Name)), max(shown, len(c.shown))
	}
	for _, c := range r.lines() {
		fmt.Fprintf(&b, "%-4s  %-*s  %*s  limit %-14s  %s", c.verdict(), width, c.Name, shown, c.shown,
			c.shownLimit(), c.Source)
		if c.Skipped != "" {
			fmt.Fprintf(&b, "; skipped: %s", c.Skipped)
		}
		if c.Machine != nil {
			fmt.Fprintf(&b, "; the machine gives %s/s", english.Grouped(uint64(*c.Machine)))
		}
		b.WriteByte('\n')
		if c.Where != "" {
			fmt.Fprintf(&b, "      %s  %s\n", c.spark, c.Where)
		}
	}
	fmt.Fprintf(&b, "%s\n", r.headline())
	_, err := io.WriteString(w, b.String())
	return err
}

// responses lists how often each status occurred.
func (r *Report) responses() string {
	var words []string
	for _, status := range slices.Sorted(maps.Keys(r.Statuses)) {
		words = append(words, status+": "+english.Grouped(r.Statuses[status]))
	}
	return strings.Join(words, "; ")
}

type row struct {
	name string
	l    Latency
}

// rows are the distributions with their titles.
func (r *Report) rows() []row {
	all := []Latency{r.Latency, r.Service, r.Reads, r.Late, r.Freshness["redis"], r.Freshness["client"]}
	rows := make([]row, len(all))
	for i, l := range latencies {
		rows[i] = row{l.title, all[i]}
	}
	return rows
}

// ParametersText formats the parameters in one line.
func ParametersText(parameters map[string]any) string {
	return strings.Join(parameterLines(parameters), ", ")
}

// parameterText formats a parameter. Integers such as the seed are floats once they were read from
// JSON, and keep all of their digits.
func parameterText(value any) string {
	if f, ok := value.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// parameterLines formats the parameters, sorted by name.
func parameterLines(parameters map[string]any) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		lines = append(lines, name+": "+parameterText(parameters[name]))
	}
	return lines
}
