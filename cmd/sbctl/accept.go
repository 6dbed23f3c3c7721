package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/loadgen/criteria"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

func newAcceptCmd(p *program) *cobra.Command {
	var profile, out, ops, prometheus, redis, shard string
	var faults []string
	var chaos bool
	var rate, users int
	var lasts time.Duration
	cmd := &cobra.Command{
		Use: "accept", Short: "Hold a server to the acceptance criteria", Args: takes(),
		Long: `Hold a server to the acceptance criteria.

It probes what must be refused, plays the profile's load with watchers beside it,
and then compares the ledger, the scores and the ranks with what was answered.
What the run writes stays on the board "global": use a server of its own.
The token needs score:update, and score:admin on a server with a development
issuer for the criteria on limits and on /me.

--rate, --duration and --users ask for less than the profile. Limits on rates and
on the duration shrink with them, and the verdict is then "scaled", never
"passed". So it is where nobody named a Prometheus that could have loaded the alert
rules, and where a run ends early. raw.zst, report.json and report.html go to
--out. Exit code 3 says that criteria were missed.

--chaos sends repeats in the same moment as what they repeat, cuts requests off
after they were sent, and runs each --fault, a command of the shell such as one
that kills a projector or flushes Redis, in the middle of the load. Then only
what must hold all the same is judged: nothing lost, nothing twice, all of it shown.

The profiles are A (signed increments), B (boards), C (from update to client),
E (reads beside writes), and full (A, B and C at once, at A's load).`,
		Example: trimExamples(`
  sbctl accept --rate 1000 --duration 1m --users 10000
  sbctl accept --profile E --out out/accept-e
  sbctl accept --chaos --fault "kill -9 4711" --fault "redis-cli flushall" --rate 500 --duration 1m`),
		RunE: func(cmd *cobra.Command, _ []string) error {
			scenario, err := criteria.Read(criteria.Profiles(), profile)
			if err != nil {
				return &usageError{err}
			}
			if cmd.Flags().Changed("rate") && rate < 1 || cmd.Flags().Changed("duration") && lasts <= 0 || cmd.Flags().Changed("users") && users < 1 {
				return usagef("--rate, --duration and --users must be more than nothing")
			}
			scenario.Scale(rate, lasts, users)
			switch {
			case !chaos && len(faults) > 0:
				return usagef("--fault is for --chaos")
			case chaos && len(faults) == 0:
				return usagef("--chaos needs a --fault: a command that breaks something in the middle")
			}
			l := scenario.Load
			load := plan.Plan{
				// Users of this run alone, so that their scores are known.
				Prefix: ownUsers(),
				Users:  l.Users, Skew: l.Skew, Mode: plan.Sync, Connections: plan.DefaultConnections,
				Reads: l.Reads, Repeats: l.Repeats, Conflicts: l.Conflicts, Forged: l.Forged,
			}
			if load.Schedule, err = plan.ParseSchedule(strconv.Itoa(l.Rate), l.Duration); err != nil {
				return &usageError{err}
			}
			if chaos {
				load.Parallel, load.Cut = chaosShare, chaosShare
				if err := scenario.Correctness(); err != nil {
					return err
				}
			}
			o, err := p.loadOptions(load, out, ops)
			if err != nil {
				return err
			}
			if o.Shard, err = parseShard(shard); err != nil {
				return err
			}
			o.Scenario, o.Prometheus, o.Redis, o.Faults = scenario, prometheus, redis, faults
			return p.runLoad(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&profile, "profile", "A", strings.Join(criteria.Names(criteria.Profiles()), ", "))
	flags.IntVar(&rate, "rate", 0, "increments a second (default the profile's)")
	flags.DurationVar(&lasts, "duration", 0, "how long (default the profile's)")
	flags.IntVar(&users, "users", 0, "how many users (default the profile's)")
	flags.StringVar(&ops, "ops", "", opsHelp)
	flags.StringVar(&prometheus, "prometheus", "", "a Prometheus that must have loaded the alert rules (default they are not judged)")
	flags.StringVar(&redis, "redis", "", "URL of the server's Redis, to see what arrives there (default through the API)")
	flags.StringVar(&shard, "shard", "", "the part of the load that this generator plays, such as 2/5")
	flags.BoolVar(&chaos, "chaos", false, "send repeats in parallel, cut requests off, and run the faults")
	flags.StringArrayVar(&faults, "fault", nil, "with --chaos, a command to run in the middle; may stand several times")
	flags.StringVar(&out, "out", "out/accept", "the folder for record and reports")
	return cmd
}

// chaosShare is the share of repeats in the same moment, and of requests that
// are cut off.
const chaosShare = 0.02

// thisMachine is what the generator runs on.
func thisMachine() record.Machine {
	v := buildinfo.Read()
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	m := record.Machine{
		Host: host, OS: runtime.GOOS + "/" + runtime.GOARCH, CPU: "unknown", Cores: runtime.NumCPU(), Go: runtime.Version(),
		Version: v.Version, Commit: v.Commit,
	}
	if v.Changed {
		m.Commit += ", with changes"
	}
	info, err := os.ReadFile("/proc/cpuinfo") // on Linux
	if err != nil {
		return m
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	return m
}
