package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/loadgen"
	"github.com/scoreboard/scoreboard/loadgen/criteria"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

func newLoadCmd(p *program) *cobra.Command {
	return newNounCmd("load", "Load-test a server with signed increments", `
  sbctl load run --rate 100 --duration 30s
  sbctl load report out/load/raw.zst --format html > report.html`,
		newLoadRunCmd(p), newLoadReportCmd(p), newLoadCleanCmd(p))
}

func newLoadRunCmd(p *program) *cobra.Command {
	load := plan.Plan{Connections: plan.DefaultConnections}
	var rate, mode, out, ops, shard string
	var duration time.Duration
	var findMax bool
	var thresholds []string
	cmd := &cobra.Command{
		Use: "run", Short: "Send increments at a fixed rate and report", Args: exactArgs(),
		Long: `Send increments at a fixed rate and report.

The run first checks that the boards exist, and that the server accepts the token, the
key and the clock, and stops with the reason if not. With --dialect it checks the token,
and needs no key.

Each increment has a scheduled time, whether or not earlier ones were answered, and
its latency is measured from that time. --rate takes a number, a ramp such as
1000..10000/60s, or several of these separated by commas; --duration applies to a
last stage without a length. The token needs the scope score:update, because the
increments are for many users. raw.zst, report.json, report.html and, for CI,
summary.md and junit.xml are written to --out, by default a new directory of out/load.
The users are new; "sbctl load clean" erases them again. --threshold sets limits on what
the report measures. Exit code 3: a threshold was missed, more than 1 % failed or were not sent in time, or
nothing was measured.

--dialect NAME sends them through another API that the server serves: highscore (with
an action token made for each), delta, module or plain. For highscore and plain the
server must mint tokens, one for each user; for module its setting ingest.actions must
have load:1:100;once=0s; for highscore the actions of its board must have no minimum
duration (sbctl board set highscore --action-min 0s). "sbctl accept --criteria B" (C, D, E) also verifies the scores.

--shard 2/5 plays the second fifth of the load, for five generators that start at
the same time; "sbctl load report" combines their records into one report.

--find-max searches for the highest rate that the server sustains. Starting at
--rate it doubles the rate and then bisects, in runs of 20 s. A run must meet the
criteria of specification A on latency, freshness and correctness, and the outbox
must drain. The rate that it finds then runs for --duration. Use a dedicated server.
Exit code 3: no rate was sustained.`,
		Example: trimExamples(`
  sbctl load run --rate 1000..10000/60s --users 100000 --out out/load
  sbctl load run --rate 500 --threshold "p(95)<200ms,errors<1%"
  sbctl load run --rate 2000 --duration 1m --reads 0.5 --repeats 0.05 --mode async
  sbctl load run --find-max --rate 2000 --duration 2m --users 10000 --out out/max`),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if load.Schedule, err = plan.ParseSchedule(rate, duration); err != nil {
				return &usageError{err}
			}
			if load.Mode = plan.Mode(mode); load.Mode != plan.Batch && cmd.Flags().Changed("batch") {
				return usagef("--batch requires --mode batch")
			}
			load.Prefix = uniquePrefix()
			o, err := loadOptions(p.connector, p.output, load, out, ops)
			if err != nil {
				return err
			}
			if o.Shard, err = parseShard(shard); err != nil {
				return err
			}
			for _, text := range thresholds {
				c, err := criteria.Parse(text, "--threshold")
				if err != nil {
					return usagef("--threshold: %w", err)
				}
				o.Thresholds = append(o.Thresholds, c)
			}
			if o.Out == "" {
				o.Out = datedFolder(time.Now())
			}
			if load.Dialect == "" { // a dialect is probed through its own API
				if err := probeLoad(cmd.Context(), p.connector, &o.Plan); err != nil {
					return err
				}
			}
			if findMax {
				if len(thresholds) > 0 {
					return usagef("--find-max does not support --threshold")
				}
				if load.Dialect != "" {
					return usagef("--find-max does not support --dialect")
				}
				return findMaxRate(cmd.Context(), p.output, o)
			}
			return runLoad(cmd.Context(), p.output, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&rate, "rate", "100", "increments per second, a ramp, or several stages")
	flags.DurationVar(&duration, "duration", 10*time.Second, "duration of the run")
	flags.IntVar(&load.Users, "users", 1000, "number of users")
	flags.Float64Var(&load.Skew, "skew", 1.1, "exponent of the Zipf distribution over users, above 1; 0: uniform")
	flags.Uint64Var(&load.Seed, "seed", 0, "seed of the random choices (default: from the clock)")
	flags.StringVar(&mode, "mode", string(plan.Sync), "how increments are sent: sync, async or batch")
	flags.IntVar(&load.BatchSize, "batch", 100, "increments per request, with --mode batch")
	flags.Float64Var(&load.Reads, "reads", 0, "reads per increment")
	flags.Float64Var(&load.Repeats, "repeats", 0, "share of increments that repeat an earlier one")
	flags.Float64Var(&load.Conflicts, "conflicts", 0, "share of increments that reuse another increment's event id")
	flags.Float64Var(&load.Forged, "forged", 0, "share of increments with an invalid signature")
	flags.StringSliceVar(&load.Boards, "boards", nil, "boards to use, one per user (default global)")
	flags.StringVar(&load.Dialect, "dialect", "", "API to send them through: "+strings.Join(plan.Dialects, ", ")+
		" (default: the native one)")
	flags.BoolVar(&findMax, "find-max", false, "search for the highest sustained rate, starting at --rate")
	flags.StringVar(&shard, "shard", "", "share of the load for this generator, such as 2/5")
	flags.StringSliceVar(&thresholds, "threshold", nil,
		"limit that fails the run, such as 'p(95)<200ms' or 'errors<1%' (repeatable, or a list with commas)")
	flags.StringVar(&ops, "ops", "", opsFlagUsage)
	flags.IntVar(&load.Connections, "connections", load.Connections, "maximum number of requests in flight")
	flags.StringVar(&out, "out", "", "directory for the record and the reports (default: out/load/DATE-TIME-PROCESS)")
	return cmd
}

// datedFolder is the folder of a run that names none: the time, and the process for
// generators that start at the same time.
func datedFolder(at time.Time) string {
	return filepath.Join("out", "load", fmt.Sprintf("%s-%d", at.Format("2006-01-02-150405"), os.Getpid()))
}

// loadOptions returns the options of a run against the connection's server.
func loadOptions(
	server *connector, say *output, load plan.Plan, out, ops string,
) (loadgen.Options, error) {
	s, err := server.connection()
	if err != nil {
		return loadgen.Options{}, err
	}
	if load.Seed == 0 {
		load.Seed = uint64(time.Now().UnixMicro()) // exact in readers that parse JSON numbers as floats
	}
	if err := load.Validate(); err != nil {
		return loadgen.Options{}, &usageError{err}
	}
	return loadgen.Options{
		Server: loadgen.Server{
			URL: s.Server.Value, Token: s.Token.Value, KeyID: s.KeyID.Value, KeySecret: s.KeySecret.Value,
		},
		Plan: load, Out: out, Ops: opsServer(s, ops).Value, Machine: machineInfo(), Say: say.infof,
	}, nil
}

// runLoad runs a load and prints its report; a failed verdict is a failed check.
func runLoad(ctx context.Context, out *output, o loadgen.Options) error {
	out.infof("%s", report.ParametersText(o.Parameters()))
	end := followLoad(out, &o)
	r, err := loadgen.Run(ctx, o)
	end()
	if err != nil {
		return err
	}
	if out.structured() {
		err = out.printStructured(r)
	} else {
		err = printText(out.stdout, r.Text)
	}
	noteReport(out, r, o.Out)
	if err != nil {
		return err
	}
	return verdictError(r)
}

// verdictError is how a run ends: only a run in which all criteria were met is a success.
func verdictError(r *report.Report) error {
	switch {
	case r.Cut:
		return fmt.Errorf("the run was interrupted: %w", context.Canceled)
	case r.Verdict == report.Failed, r.Verdict == report.Undecidable:
		return errCheckFailed
	}
	return nil
}

// noteReport prints where the report is, and warns if it measured the generator
// instead of the server.
func noteReport(o *output, r *report.Report, out string) {
	for _, c := range r.Criteria {
		if c.Name == "behind" && !c.Pass {
			o.infof(
				"behind: this machine was too busy to send on schedule; the other figures do not describe the server",
			)
		}
	}
	if out != "" {
		o.infof("report: %s (and report.json)", filepath.Join(out, "report.html"))
		o.infof("its users are still on the boards: sbctl load clean %s", out)
	}
}

// findMaxRate searches for the highest sustained rate; finding none is a failed check.
func findMaxRate(ctx context.Context, out *output, o loadgen.Options) error {
	if o.Shard.Of > 1 {
		return usagef("--find-max does not support --shard")
	}
	var err error
	if o.Scenario, err = criteria.Read(criteria.Profiles(), "A"); err != nil {
		return err
	}
	if err := o.Scenario.UnderLoad(); err != nil {
		return err
	}
	out.infof("%s", report.ParametersText(o.Parameters()))
	end := followLoad(out, &o)
	found, err := loadgen.FindMax(ctx, o)
	end()
	if err != nil {
		return err
	}
	if err := out.print(found, func() *table { return triesTable(found) }); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the search was interrupted: %w", context.Canceled)
	case found.Rate == 0:
		return errCheckFailed
	}
	held := time.Duration(found.Report.Seconds * float64(time.Second)).Round(time.Second)
	noteReport(out, found.Report, o.Out)
	out.infof("sustained %s/s for %v (%s)", english.Count(found.Rate, "increment"), held, found.Mode)
	return nil
}

func triesTable(m *loadgen.Max) *table {
	t := newTable(">RATE", ">SECONDS", ">ACHIEVED", ">P95 MS", ">P99 MS", "SUSTAINED", "MISSED")
	for _, try := range m.Tries {
		held := "yes"
		if try.Missed != "" {
			held = "no"
		}
		t.add(strconv.Itoa(try.Rate), fmt.Sprintf("%.0f", try.Seconds), fmt.Sprintf("%.0f", try.Got),
			fmt.Sprintf("%.1f", try.P95), fmt.Sprintf("%.1f", try.P99), held, try.Missed)
	}
	return t
}

func parseShard(text string) (record.Shard, error) {
	if text == "" {
		return record.Shard{}, nil
	}
	s, err := record.ParseShard(text)
	if err != nil {
		return s, &usageError{err}
	}
	return s, nil
}

// uniquePrefix returns a prefix for user ids that no earlier run used, so that
// their expected scores are known.
func uniquePrefix() string { return "a" + strconv.FormatInt(time.Now().UnixMilli(), 36) + "-" }
