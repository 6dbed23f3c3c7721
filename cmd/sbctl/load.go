package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/loadgen"
)

func newLoadCmd(p *program) *cobra.Command {
	return newNounCmd("load", "Play signed increments against a server and measure", `
  sbctl load run --rate 100 --duration 30s
  sbctl load run --rate 10000 --duration 15m --users 100000 --out out/load`,
		newLoadRunCmd(p))
}

func newLoadRunCmd(p *program) *cobra.Command {
	plan := loadgen.Plan{Seed: 1}
	var out string
	cmd := &cobra.Command{
		Use: "run", Short: "Send increments at a fixed rate and report", Args: takes(),
		Long: `Send increments at a fixed rate and report.

Each increment is due at its time, whether or not those before it are answered,
and its latency runs from then. The token needs the scope score:update, for the
increments are many users'. report.json goes to --out. Exit code 3 says that over
1 % failed or could not be sent in time, or that nothing was measured.`,
		Example: trimExamples(`
  sbctl load run --rate 100 --duration 30s --users 1000
  sbctl load run --rate 2000 --duration 1m --users 10000 --skew 1.2 --out out/load`),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.settings()
			if err != nil {
				return err
			}
			server := loadgen.Server{URL: s.Server.Value, Token: s.Token.Value, KeyID: s.KeyID.Value, KeySecret: s.KeySecret.Value}
			report, err := loadgen.Run(cmd.Context(), server, plan, p.loadProgress)
			if err != nil {
				return &usageError{err}
			}
			if out != "" {
				if err := report.Write(out); err != nil {
					return fmt.Errorf("write the report: %w", err)
				}
			}
			if err := p.printReport(report); err != nil {
				return err
			}
			switch {
			case report.Cut:
				return fmt.Errorf("the run was ended before its time: %w", context.Canceled)
			case report.Verdict != loadgen.Passed:
				return errNo
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&plan.Rate, "rate", 100, "increments a second")
	flags.DurationVar(&plan.Duration, "duration", 10*time.Second, "how long")
	flags.IntVar(&plan.Users, "users", 1000, "how many users they are drawn from")
	flags.Float64Var(&plan.Skew, "skew", 1.1, "exponent of the Zipf draw of users, above 1; 0 draws all alike")
	flags.Uint64Var(&plan.Seed, "seed", plan.Seed, "of the draw; event ids are always new")
	flags.StringVar(&out, "out", "", "the folder for report.json (default none is written)")
	return cmd
}

func (p *program) loadProgress(s loadgen.Progress) {
	p.say("%6.0f s  %d due, %d answered, %d failed, p95 %.1f ms from when due",
		s.Elapsed.Seconds(), s.Asked, s.Sent, s.Failed, s.P95)
}

func (p *program) printReport(r *loadgen.Report) error {
	if p.output == "json" {
		return p.print(r, nil)
	}
	_, err := io.WriteString(p.stdout, r.Text())
	return err
}
