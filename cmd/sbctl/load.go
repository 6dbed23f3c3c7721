package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/loadgen"
	"github.com/scoreboard/scoreboard/loadgen/pace"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

func newLoadCmd(p *program) *cobra.Command {
	return newNounCmd("load", "Play signed increments against a server and measure", `
  sbctl load run --rate 100 --duration 30s
  sbctl load report out/load/raw.zst --format html > report.html`,
		newLoadRunCmd(p), newLoadReportCmd(p))
}

func newLoadRunCmd(p *program) *cobra.Command {
	plan := loadgen.Plan{Connections: loadgen.DefaultConnections}
	var rate, mode, out string
	var lasts time.Duration
	cmd := &cobra.Command{
		Use: "run", Short: "Send increments at a rate and report", Args: takes(),
		Long: `Send increments at a rate and report.

Each increment is due at its time, whether or not those before it are answered,
and its latency runs from then. --rate takes a number, a ramp such as
1000..10000/60s, or stages of these divided by commas; the last may leave its
length to --duration. The token needs the scope score:update, for the increments
are many users'. With --out, raw.zst, report.json and report.html go there. Exit
code 3 says that over 1 % failed or could not be sent in time, or that nothing was
measured.`,
		Example: trimExamples(`
  sbctl load run --rate 1000..10000/60s --users 100000 --out out/load
  sbctl load run --rate 2000 --duration 1m --reads 0.5 --repeats 0.05 --mode async`),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if plan.Pace, err = pace.Parse(rate, lasts); err != nil {
				return &usageError{err}
			}
			if plan.Mode = loadgen.Mode(mode); plan.Mode != loadgen.Batch && cmd.Flags().Changed("batch") {
				return usagef("--batch is for --mode batch")
			}
			o, err := p.loadOptions(plan, out)
			if err != nil {
				return err
			}
			return p.runLoad(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&rate, "rate", "100", "increments a second, a ramp, or stages of these")
	flags.DurationVar(&lasts, "duration", 10*time.Second, "how long")
	flags.IntVar(&plan.Users, "users", 1000, "how many users they are drawn from")
	flags.Float64Var(&plan.Skew, "skew", 1.1, "exponent of the Zipf draw of users, above 1; 0 draws all alike")
	flags.Uint64Var(&plan.Seed, "seed", 0, "of the draw of users, deltas and kinds (default by the clock)")
	flags.StringVar(&mode, "mode", string(loadgen.Sync), "sync, async or batch")
	flags.IntVar(&plan.Size, "batch", 100, "increments in a request, with --mode batch")
	flags.Float64Var(&plan.Reads, "reads", 0, "reads for each increment")
	flags.Float64Var(&plan.Repeats, "repeats", 0, "share of increments that were sent before")
	flags.Float64Var(&plan.Conflicts, "conflicts", 0, "share with the event id of another increment")
	flags.Float64Var(&plan.Forged, "forged", 0, "share with a signature that does not hold")
	flags.IntVar(&plan.Connections, "connections", plan.Connections, "the most requests in flight")
	flags.StringVar(&out, "out", "", "the folder for record and reports (default none are written)")
	return cmd
}

// loadOptions are those of a run against the server of the settings.
func (p *program) loadOptions(plan loadgen.Plan, out string) (loadgen.Options, error) {
	s, err := p.settings()
	if err != nil {
		return loadgen.Options{}, err
	}
	if plan.Seed == 0 {
		plan.Seed = uint64(time.Now().UnixNano())
	}
	if err := plan.Check(); err != nil {
		return loadgen.Options{}, &usageError{err}
	}
	return loadgen.Options{
		Server: loadgen.Server{URL: s.Server.Value, Token: s.Token.Value, KeyID: s.KeyID.Value, KeySecret: s.KeySecret.Value},
		Plan:   plan, Out: out, Machine: thisMachine(), Say: p.say,
	}, nil
}

// runLoad runs, prints, and answers with the verdict.
func (p *program) runLoad(ctx context.Context, o loadgen.Options) error {
	p.say("%s", report.ParametersText(o.Parameters()))
	r, err := loadgen.Run(ctx, o)
	if err != nil {
		return err
	}
	if p.output == "json" {
		err = r.JSON(p.stdout)
	} else {
		err = r.Text(p.stdout)
	}
	switch {
	case err != nil:
		return err
	case r.Cut:
		return fmt.Errorf("the run was ended before its time: %w", context.Canceled)
	case r.Verdict == report.Failed:
		return errNo
	}
	return nil
}

func newLoadReportCmd(p *program) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "report FILE", Short: "Make a report of a recorded run", Args: takes("the record"),
		Long: `Make a report of a recorded run.

FILE is the raw.zst of load run or accept. text and json are the report, html is
one page that needs nothing else, hdr is the distribution of the latency of
increments as HdrHistogram's tools read it.`,
		Example: trimExamples(`
  sbctl load report out/load/raw.zst
  sbctl load report out/load/raw.zst --format hdr`),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("format") && p.output == "json" {
				format = "json"
			}
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }()
			r, b, err := report.Make(f)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			write, known := map[string]func(io.Writer) error{"text": r.Text, "json": r.JSON, "html": r.HTML, "hdr": b.Histogram}[format]
			if !known {
				return usagef("--format is text, json, html or hdr, not %q", format)
			}
			return write(p.stdout)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, json, html or hdr")
	return cmd
}
