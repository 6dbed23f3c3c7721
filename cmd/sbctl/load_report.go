package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/loadgen/report"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func newLoadReportCmd(p *program) *cobra.Command {
	var format string
	var others, thresholds []string
	cmd := &cobra.Command{
		Use: "report FILE...", Short: "Report on a recorded run",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("FILE is required: the record of a run, or those of all its shards")
			}
			return nil
		},
		Long: `Report on a recorded run.

FILE is the raw.zst of "load run" or "accept"; pass the records of all shards of a
run for one combined report. html is a self-contained page. junit and markdown are for
CI: a test for each criterion, and the summary of a job. hdr is the latency
distribution of increments in the format of HdrHistogram.

--against compares with an earlier run, in text, json and html. Exit code 3: a metric
is worse than its threshold allows or is missing, a criterion is no longer met, or the
runs cannot be compared. Runs with other parameters, such as the server, the rate or
the duration, cannot be compared: the report names the differences and judges nothing.

--threshold NAME=VALUE sets by how much a metric may be worse. NAME is a metric of the
comparison, such as api.p95, or its end, such as p95, for all that have it except
api.service and late. VALUE is a percentage of the other run's value, or an absolute
value: p95=10%, api.p99=20ms, rate=50. For errors and behind, which are percentages, it
is in percentage points. By default rates may fall by 5%, p50 and p95 may rise by 10%,
p99 by 15%, errors by 0.1 points and behind by 1 point. A percentage of a latency always
allows 1 ms. Other metrics are only compared if they have a threshold.`,
		Example: trimExamples(`
  sbctl load report out/load/raw.zst --format hdr
  sbctl load report out/new/raw.zst --against out/old/raw.zst --threshold p95=20% --threshold errors=0.5%
  sbctl load report out/new/raw.zst --against out/old/raw.zst --format html > compare.html
  sbctl load report shard-1/raw.zst shard-2/raw.zst`),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("format") && p.structured() {
				format = "json"
			}
			limits, err := parseThresholds(thresholds)
			if err != nil {
				return err
			}
			if len(others) == 0 && len(limits) > 0 {
				return usagef("--threshold requires --against")
			}
			if len(others) > 0 && slices.Contains([]string{"hdr", "junit", "markdown"}, format) {
				return usagef("--against requires --format text, json or html")
			}
			r, b, err := makeReport(args)
			if err != nil {
				return err
			}
			if len(others) > 0 {
				old, _, err := makeReport(others)
				if err != nil {
					return err
				}
				r.Against(old, limits)
			}
			write, known := map[string]func() error{
				"text": func() error { return printReport(p.output, r) },
				"json": func() error {
					if p.structured() {
						return p.printStructured(r)
					}
					return r.JSON(p.stdout)
				},
				"html":     func() error { return r.HTML(p.stdout) },
				"junit":    func() error { return r.JUnit(p.stdout) },
				"markdown": func() error { return r.Markdown(p.stdout) },
				"hdr":      func() error { return b.Histogram(p.stdout) },
			}[format]
			if !known {
				return usagef("--format must be text, json, html, junit, markdown or hdr, not %q", format)
			}
			if err := write(); err != nil {
				return err
			}
			if r.Comparison != nil && r.Comparison.Failed() {
				return errCheckFailed
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "format of the report: text, json, html, junit, markdown or hdr")
	cmd.Flags().StringArrayVar(&others, "against", nil,
		"record of an earlier run to compare with (repeatable, for all its shards)")
	cmd.Flags().StringArrayVar(&thresholds, "threshold", nil,
		"with --against, by how much a metric may be worse, such as p95=10% (repeatable)")
	return cmd
}

func parseThresholds(texts []string) (all []report.Threshold, err error) {
	for _, text := range texts {
		t, err := report.ParseThreshold(text)
		if err != nil {
			return nil, usagef("--threshold: %w", err)
		}
		all = append(all, t)
	}
	return all, nil
}

// printReport prints a report, or its comparison with another run.
func printReport(out *output, r *report.Report) error {
	c := r.Comparison
	if c == nil {
		return printText(out.stdout, r.Text)
	}
	t := newTable("METRIC", ">THIS", ">OTHER", ">CHANGE", ">THRESHOLD", "RESULT")
	for _, row := range c.Rows() {
		t.add(row.Name, row.This, row.Other, row.Change, row.Threshold, row.Result)
	}
	return out.page(t.render(out.style) + "\n" + scoreboard.Escape(c.Summary()) + "\n")
}

// makeReport combines the records at the paths into one report.
func makeReport(paths []string) (*report.Report, *report.Builder, error) {
	var records []io.ReadSeeker
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, nil, err
		}
		defer func() { _ = f.Close() }()
		records = append(records, f)
	}
	r, b, err := report.Make(records...)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", paths[0], err)
	}
	return r, b, nil
}
