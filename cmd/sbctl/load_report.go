package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/loadgen/report"
)

func newLoadReportCmd(p *program) *cobra.Command {
	var format, other string
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
run for one combined report. html is a self-contained page. hdr is the latency
distribution of increments in the format of HdrHistogram. --against compares with
another run, in text and html.`,
		Example: trimExamples(`
  sbctl load report out/load/raw.zst --format hdr
  sbctl load report out/new/raw.zst --against out/old/raw.zst --format html
  sbctl load report shard-1/raw.zst shard-2/raw.zst`),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("format") && p.structured() {
				format = "json"
			}
			r, b, err := makeReport(args)
			if err != nil {
				return err
			}
			printJSON := r.JSON
			if p.structured() {
				printJSON = func(io.Writer) error { return p.printStructured(r) }
			}
			write, known := map[string]func(io.Writer) error{
				"text": func(w io.Writer) error { return printText(w, r.Text) },
				"json": printJSON, "html": r.HTML, "hdr": b.Histogram,
			}[format]
			if !known {
				return usagef("--format must be text, json, html or hdr, not %q", format)
			}
			if other == "" {
				return write(p.stdout)
			}
			old, _, err := makeReport([]string{other})
			if err != nil {
				return err
			}
			switch format {
			case "text":
				return printText(p.stdout, func(w io.Writer) error { return r.Compare(w, old) })
			case "html":
				return r.CompareHTML(p.stdout, old)
			}
			return usagef("--against requires --format text or html")
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "format of the report: text, json, html or hdr")
	cmd.Flags().StringVar(&other, "against", "", "record of another run to compare with")
	return cmd
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
