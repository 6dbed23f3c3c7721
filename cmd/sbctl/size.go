package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/loadgen/sizing"
)

func newSizeCmd(p *program) *cobra.Command {
	var load sizing.Load
	var coefficients bool
	cmd := &cobra.Command{
		Use: "size", Short: "Estimate the nodes, memory, disks and network that a load needs", Args: exactArgs(),
		Long: `Estimate the nodes, memory, disks and network that a load needs, from measured
figures (--coefficients lists them with their command, commit and date), and simulate how
long increments wait for their transaction during a day. This does not contact a server.
On a terminal, sbctl prompts for missing flags.

The price table has quantities only: fill in the prices of your provider. The result is
computed and was not run; its notes say where it goes beyond the measurements.`,
		Example: trimExamples(`
  sbctl size --users 10000000 --boards 3 --updates-per-day 100000000 --viewers 100000
  sbctl size --coefficients --output csv`),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if coefficients {
				return p.print(sizing.Coefficients(), func() *table { return coefficientTable(sizing.Coefficients()) })
			}
			if err := askForLoad(cmd.Context(), p.prompt, cmd.Flags()); err != nil {
				return err
			}
			if err := load.Check(); err != nil {
				return usagef("--%w", err)
			}
			plan := sizing.Estimate(load)
			if p.structured() {
				return p.printStructured(plan)
			}
			return p.page(planText(p.style, plan))
		},
	}
	flags := cmd.Flags()
	flags.Int64Var(&load.Users, "users", 0, "users with a score")
	flags.Int64Var(&load.Boards, "boards", 1, "boards on which a user has a score")
	flags.Int64Var(&load.LeaguePlayers, "league-players", 0, "players of leagues, counted for each period that is kept")
	flags.Int64Var(&load.UpdatesPerDay, "updates-per-day", 0, "increments a day")
	flags.Float64Var(&load.Peak, "peak-factor", 10, "highest rate relative to the day's average")
	flags.Int64Var(&load.Viewers, "viewers", 0, "open streams at the peak")
	flags.Int64Var(&load.RetentionDays, "retention-days", 90, "days that the ledger stays in PostgreSQL (ledger.keep)")
	flags.DurationVar(&load.Window, "window", 200*time.Millisecond, "setting realtime.window")
	flags.BoolVar(&coefficients, "coefficients", false, "list the measured figures instead")
	return cmd
}

// loadQuestions are the flags that sbctl size asks for; without a required one it cannot compute.
var loadQuestions = []struct {
	flag, question string
	required       bool
}{
	{"users", "Users with a score", true},
	{"boards", "Boards on which a user has a score", false},
	{"updates-per-day", "Increments a day", true},
	{"peak-factor", "Highest rate relative to the average", false},
	{"viewers", "Open streams at the peak", false},
	{"retention-days", "Days that the ledger stays in PostgreSQL", false},
}

// askForLoad asks for the values that no flag gave, on a terminal.
func askForLoad(ctx context.Context, pr *prompt, flags *pflag.FlagSet) error {
	if !isTerminal(pr.stdin) {
		return nil
	}
	for _, q := range loadQuestions {
		f := flags.Lookup(q.flag)
		if f.Changed {
			continue
		}
		prompt := q.question
		if f.DefValue != "0" {
			prompt += " [" + f.DefValue + "]"
		}
		answer, err := pr.ask(ctx, prompt+": ")
		for err == nil && answer == "" && q.required {
			answer, err = pr.ask(ctx, prompt+" (required): ")
		}
		if err != nil {
			return err
		}
		if answer == "" {
			continue
		}
		if err := flags.Set(q.flag, strings.NewReplacer(",", "", "_", "", " ", "").Replace(answer)); err != nil {
			return usagef("%s: %q is not a number", q.question, answer)
		}
	}
	return nil
}

// planText is a plan as tables, each under its title.
func planText(s style, plan *sizing.Plan) string {
	var b strings.Builder
	section := func(title string, t *table) {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(title + "\n\n" + t.render(s))
	}
	section("Nodes", partTable(plan.Parts))
	amounts := newTable("what", ">amount", "")
	for _, a := range plan.Amounts {
		amounts.add(a.Name, rounded(a.Value), a.Unit)
	}
	section("Amounts", amounts)
	section("A day with ten minutes of peak, simulated: from an increment's arrival at a node to its commit",
		dayTable(plan.Day))
	prices := newTable("for a month", ">quantity", "unit", "price each", "price")
	for _, q := range plan.Prices {
		prices.add(q.Item, rounded(q.Quantity), q.Unit, "________", "________")
	}
	section("Prices", prices)
	b.WriteString("\n")
	for _, note := range plan.Notes {
		b.WriteString("- " + note + "\n")
	}
	return b.String()
}

func partTable(parts []sizing.Part) *table {
	t := newTable("part", ">nodes", ">vCPU each", ">memory each, GiB", ">disk each, GiB", "because of")
	for _, part := range parts {
		disk := ""
		if part.DiskGiB > 0 {
			disk = rounded(part.DiskGiB)
		}
		t.add(part.Name, strconv.FormatInt(part.Nodes, 10), strconv.FormatInt(part.VCPU, 10), rounded(part.MemoryGiB),
			disk, part.Why)
	}
	return t
}

// dayTable shows every fourth hour, and the peak.
func dayTable(day []sizing.Period) *table {
	t := newTable("from", ">increments/s", ">in a transaction", ">p50 ms", ">p95 ms")
	for i := 0; i < len(day); i += 4 {
		h := day[i]
		tenths := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
		t.add(h.Name, rounded(h.Rate), tenths(h.Batch), tenths(h.P50), tenths(h.P95))
	}
	return t
}

func coefficientTable(coefficients []sizing.Coefficient) *table {
	t := newTable("what", ">value", "unit", "command", "commit", "date")
	for _, c := range coefficients {
		t.add(c.Name, strconv.FormatFloat(c.Value, 'f', -1, 64), c.Unit, c.Command, c.Commit, c.Date)
	}
	return t
}

// rounded is a number with three digits or more, and separators of thousands.
func rounded(v float64) string {
	switch {
	case v >= 100 || v == float64(int64(v)):
		return english.Grouped(int64(v + 0.5))
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
