package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/internal/english"
)

// junit is a report in the format that CI systems read: a test for each criterion.
type junit struct {
	XMLName   xml.Name    `xml:"testsuite"`
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"` // not measured, or undecidable: they say nothing about the server
	Seconds   string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	Failure *junitText `xml:"failure"`
	Skipped *junitText `xml:"skipped"`
}

type junitText struct {
	Message string `xml:"message,attr"`
}

// JUnit writes the criteria as tests in the format of JUnit.
func (r *Report) JUnit(w io.Writer) error {
	suite := junit{
		Name: "load", Seconds: fmt.Sprintf("%.3f", r.Seconds), Timestamp: r.Began.UTC().Format(time.RFC3339),
	}
	if r.Profile != "" {
		suite.Name += " " + r.Profile
	}
	for _, c := range r.lines() {
		one := junitCase{Name: c.Name + " " + c.Limit, Class: suite.Name}
		text := &junitText{fmt.Sprintf("%s, limit %s: %s", c.shown, c.shownLimit(), c.Source)}
		switch {
		case c.Pass:
		case c.Skipped != "":
			one.Skipped = &junitText{c.Skipped}
			suite.Skipped++
		case c.Undecidable != "":
			text.Message += "; " + c.Undecidable
			one.Skipped = text
			suite.Skipped++
		default:
			one.Failure = text
			suite.Failures++
		}
		suite.Cases = append(suite.Cases, one)
	}
	suite.Tests = len(suite.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// Markdown writes the verdict, the criteria and the latencies as Markdown, for the summary of a CI job.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## Load test %s\n\n", r.headline())
	b.WriteString("| | criterion | measured | limit | source |\n|---|---|--:|--:|---|\n")
	for _, c := range r.lines() {
		mark := map[string]string{"ok": "✓", "skip": "–", "open": "?", "FAIL": "✗"}[c.verdict()]
		source := c.Source
		if c.Skipped != "" {
			source += "; skipped: " + c.Skipped
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s |\n",
			mark, c.Name, cellText(c.shown), cellText(c.shownLimit()), cellText(source))
	}
	b.WriteString("\n")
	for _, c := range r.lines() {
		if c.Where != "" {
			fmt.Fprintf(&b, "`%s` over the run: `%s` %s\n\n", c.Name, c.spark, c.Where)
		}
	}
	b.WriteString("| in ms | p50 | p95 | p99 | max |\n|---|--:|--:|--:|--:|\n")
	for _, row := range r.rows() {
		if row.l.N > 0 {
			l := &row.l
			fmt.Fprintf(&b, "| %s | %.1f | %.1f | %.1f | %.1f |\n", row.name, l.P50, l.P95, l.P99, l.Max)
		}
	}
	fmt.Fprintf(&b, "\n%s scheduled, %s sent, %s succeeded in %.1f s.\n",
		english.Grouped(r.Scheduled), english.Grouped(r.Sent), english.Grouped(r.Succeeded), r.Seconds)
	_, err := io.WriteString(w, b.String())
	return err
}

// cellText keeps a text within its cell of a table.
func cellText(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(s)
}
