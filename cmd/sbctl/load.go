package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/loadgen"
	"github.com/scoreboard/scoreboard/loadgen/criteria"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

func newLoadCmd(p *program) *cobra.Command {
	return newNounCmd("load", "Play signed increments against a server and measure", `
  sbctl load run --rate 100 --duration 30s
  sbctl load report out/load/raw.zst --format html > report.html`,
		newLoadRunCmd(p), newLoadReportCmd(p))
}

func newLoadRunCmd(p *program) *cobra.Command {
	load := plan.Plan{Connections: plan.DefaultConnections}
	var rate, mode, out, ops, shard string
	var lasts time.Duration
	var findMax bool
	cmd := &cobra.Command{
		Use: "run", Short: "Send increments at a rate and report", Args: takes(),
		Long: `Send increments at a rate and report.

Each increment is due at its time, whether or not those before it are answered,
and its latency runs from then. --rate takes a number, a ramp such as
1000..10000/60s, or stages of these divided by commas; the last may leave its
length to --duration. The token needs the scope score:update, for the increments
are many users'. With --out, raw.zst, report.json and report.html go there. Exit
code 3 says that over 1 % failed or could not be sent in time, or that nothing was
measured.

--shard 2/5 plays the second fifth of the load, for five generators that begin at
the same time; "sbctl load report" makes one report of their records.

--find-max looks for the highest rate that is held: from --rate on it doubles and
then halves the gap in tries of 20 s, each judged by the criteria of specification
A on latency, freshness and correctness, and by an outbox that drains; what it finds
is played for --duration. The server should be one of its own. Exit code 3 says
that no rate was held.`,
		Example: trimExamples(`
  sbctl load run --rate 1000..10000/60s --users 100000 --out out/load
  sbctl load run --rate 2000 --duration 1m --reads 0.5 --repeats 0.05 --mode async
  sbctl load run --find-max --rate 2000 --duration 2m --users 10000 --out out/max`),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if load.Schedule, err = plan.ParseSchedule(rate, lasts); err != nil {
				return &usageError{err}
			}
			if load.Mode = plan.Mode(mode); load.Mode != plan.Batch && cmd.Flags().Changed("batch") {
				return usagef("--batch is for --mode batch")
			}
			if load.Prefix == "" && (findMax || shard != "") {
				load.Prefix = ownUsers()
			}
			o, err := p.loadOptions(load, out, ops)
			if err != nil {
				return err
			}
			if o.Shard, err = parseShard(shard); err != nil {
				return err
			}
			if findMax {
				return p.findMax(cmd.Context(), o)
			}
			return p.runLoad(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&rate, "rate", "100", "increments a second, a ramp, or stages of these")
	flags.DurationVar(&lasts, "duration", 10*time.Second, "how long")
	flags.IntVar(&load.Users, "users", 1000, "how many users they are drawn from")
	flags.Float64Var(&load.Skew, "skew", 1.1, "exponent of the Zipf draw of users, above 1; 0 draws all alike")
	flags.Uint64Var(&load.Seed, "seed", 0, "of the draw of users, deltas and kinds (default by the clock)")
	flags.StringVar(&mode, "mode", string(plan.Sync), "sync, async or batch")
	flags.IntVar(&load.BatchSize, "batch", 100, "increments in a request, with --mode batch")
	flags.Float64Var(&load.Reads, "reads", 0, "reads for each increment")
	flags.Float64Var(&load.Repeats, "repeats", 0, "share of increments that were sent before")
	flags.Float64Var(&load.Conflicts, "conflicts", 0, "share with the event id of another increment")
	flags.Float64Var(&load.Forged, "forged", 0, "share with a signature that does not hold")
	flags.StringSliceVar(&load.Boards, "boards", nil, "the boards to play on, a user on one of them (default global)")
	flags.BoolVar(&findMax, "find-max", false, "look for the highest rate that is held, from --rate on")
	flags.StringVar(&shard, "shard", "", "the part of the load that this generator plays, such as 2/5")
	flags.StringVar(&ops, "ops", "", opsHelp)
	flags.IntVar(&load.Connections, "connections", load.Connections, "the most requests in flight")
	flags.StringVar(&out, "out", "", "the folder for record and reports (default none are written)")
	return cmd
}

// loadOptions are those of a run against the server of the settings.
func (p *program) loadOptions(load plan.Plan, out, ops string) (loadgen.Options, error) {
	s, err := p.settings()
	if err != nil {
		return loadgen.Options{}, err
	}
	if load.Seed == 0 {
		load.Seed = uint64(time.Now().UnixMicro()) // what reads JSON as floats reads it whole
	}
	if err := load.Validate(); err != nil {
		return loadgen.Options{}, &usageError{err}
	}
	return loadgen.Options{
		Server: loadgen.Server{URL: s.Server.Value, Token: s.Token.Value, KeyID: s.KeyID.Value, KeySecret: s.KeySecret.Value},
		Plan:   load, Out: out, Ops: p.opsServer(s, ops).Value, Machine: thisMachine(), Say: p.say,
	}, nil
}

// runLoad runs, prints, and answers with the verdict.
func (p *program) runLoad(ctx context.Context, o loadgen.Options) error {
	p.say("%s", report.ParametersText(o.Parameters()))
	end := p.follow(&o)
	r, err := loadgen.Run(ctx, o)
	end()
	if err != nil {
		return err
	}
	if p.output == "json" {
		err = r.JSON(p.stdout)
	} else {
		err = r.Text(p.stdout)
	}
	p.sayOfReport(r, o.Out)
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

// sayOfReport says where a report lies, and when it says little of the server.
func (p *program) sayOfReport(r *report.Report, out string) {
	for _, c := range r.Criteria {
		if c.Name == "behind" && !c.Pass {
			p.say("behind: this machine was too busy to send in time, so the other figures say little of the server")
		}
	}
	if out != "" {
		p.say("the report is %s, and report.json beside it", filepath.Join(out, "report.html"))
	}
}

// findMax searches, prints, and answers whether anything was found.
func (p *program) findMax(ctx context.Context, o loadgen.Options) error {
	if o.Shard.Of > 1 {
		return usagef("--find-max is for one generator")
	}
	var err error
	if o.Scenario, err = criteria.Read(criteria.Profiles(), "A"); err != nil {
		return err
	}
	if err := o.Scenario.UnderLoad(); err != nil {
		return err
	}
	p.say("%s", report.ParametersText(o.Parameters()))
	end := p.follow(&o)
	found, err := loadgen.FindMax(ctx, o)
	end()
	if err != nil {
		return err
	}
	if err := p.print(found, func() *table { return triesTable(found) }); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the search was ended before its time: %w", context.Canceled)
	case found.Rate == 0:
		return errNo
	}
	p.say("%d increments a second were held for %v (%s)", found.Rate, time.Duration(found.Report.Seconds*float64(time.Second)).Round(time.Second), found.Mode)
	return nil
}

func triesTable(m *loadgen.Max) *table {
	t := newTable(">RATE", ">SECONDS", ">GOT", ">P95 MS", ">P99 MS", "HELD", "MISSED")
	for _, try := range m.Tries {
		held := "yes"
		if try.Missed != "" {
			held = "no"
		}
		t.add(strconv.Itoa(try.Rate), fmt.Sprintf("%.0f", try.Seconds), fmt.Sprintf("%.0f", try.Got), fmt.Sprintf("%.1f", try.P95), fmt.Sprintf("%.1f", try.P99), held, try.Missed)
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

// ownUsers begins the names of users of a run of its own, so that what they must
// have is known.
func ownUsers() string { return "a" + strconv.FormatInt(time.Now().UnixMilli(), 36) + "-" }
