package main

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/loadgen/criteria"
	"github.com/scoreboard/scoreboard/loadgen/machine"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

func newAcceptCmd(p *program) *cobra.Command {
	var wanted, out, ops, prometheus, redis, shard, scale, postgres string
	var faults []string
	var chaos bool
	var rate, users int
	var duration time.Duration
	cmd := &cobra.Command{
		Use: "accept", Short: "Check a server against the acceptance criteria", Args: exactArgs(),
		Long: `Check a server against the acceptance criteria.

The run first sends requests that the server must reject, then plays the load of the
criteria while watchers follow the board, and finally compares the ledger, the scores
and the ranks with the responses. Its increments stay on the board "global", so use
a dedicated server. The token needs score:update. The criteria on limits and on /me
also need score:admin on a server with a development issuer.

B, C, D and E send their load through the API of their specification, on its board:
enable its dialect on the server. For D the setting ingest.actions must have load:1:100;once=0s.
B and E need the development issuer, for a token of each user. B asks for 10,000 scores per
second with three requests each; the report has the highest rate reached beside the limit. E
asks for the latency of Redis: that of the calls of the process whose metrics are at --ops.

--rate, --duration and --users scale the load down. Limits on rates and on the
duration shrink with them, and the verdict is then "scaled", never "passed". The
verdict is also "scaled" without --prometheus, because the alert rules cannot be
checked, and when a run ends early. raw.zst, report.json, report.html,
summary.md and junit.xml are written to --out. Exit code 3: at least one criterion was missed.

--scale machine first measures for ten seconds what this machine can give at all:
requests to an empty HTTP server and, with --postgres, specification A's transaction
alone. If the criteria ask for more, missed rates, times and errors are "undecidable",
because they say nothing about the server, and so is the verdict, with exit code 3.
Run it on the machine of the server, while nothing else runs.

--chaos sends repeats at the same time as their originals, cuts requests off after
they were sent, and runs each --fault in the middle of the load. A fault is a shell
command, such as one that kills a projector or flushes Redis. Only correctness is
then checked: nothing lost, nothing counted twice, everything shown.

The limits are those of the specifications, so that a verdict means the same everywhere,
and cannot be set. For limits of your own use "sbctl load run --threshold".

Criteria: A (signed increments), B (best scores with action tokens), C (from update to
client), D (actions), E (reads and best scores), full (A, B and C at once, at A's load
through the native API).`,
		Example: trimExamples(`
  sbctl accept --rate 1000 --duration 1m --users 10000
  sbctl accept --criteria E --out out/accept-e
  sbctl accept --chaos --fault "kill -9 4711" --fault "redis-cli flushall" --rate 500 --duration 1m`),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkCriteria(p.profiles, cmd); err != nil {
				return err
			}
			scenario, err := criteria.Read(criteria.Profiles(), wanted)
			if err != nil {
				return &usageError{err}
			}
			flags := cmd.Flags()
			if flags.Changed("rate") && rate < 1 || flags.Changed("duration") && duration <= 0 ||
				flags.Changed("users") && users < 1 {
				return usagef("--rate, --duration and --users must be greater than 0")
			}
			switch {
			case scale != "full" && scale != "machine":
				return usagef("--scale must be full or machine, not %q", scale)
			case scale == "machine" && shard != "":
				return usagef("--scale machine measures one machine: it does not support --shard")
			case scale == "full" && postgres != "":
				return usagef("--postgres requires --scale machine")
			}
			scenario.Scale(rate, duration, users)
			switch {
			case !chaos && len(faults) > 0:
				return usagef("--fault requires --chaos")
			case chaos && len(faults) == 0:
				return usagef("--chaos requires --fault, a shell command that breaks something during the run")
			}
			l := scenario.Load
			load := plan.Plan{
				// A prefix of its own gives the run new users, whose scores are known.
				Prefix: uniquePrefix(),
				Users:  l.Users, Skew: l.Skew, Mode: plan.Sync, Connections: plan.DefaultConnections,
				Reads: l.Reads, Repeats: l.Repeats, Conflicts: l.Conflicts, Forged: l.Forged, Dialect: l.Dialect,
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
			o, err := loadOptions(p.connector, p.output, load, out, ops)
			if err != nil {
				return err
			}
			if o.Shard, err = parseShard(shard); err != nil {
				return err
			}
			o.Scenario, o.Prometheus, o.Redis, o.Faults = scenario, prometheus, redis, faults
			if scale == "machine" {
				p.infof("measuring what the machine gives without the server")
				if o.Machine.Capacity, err = machine.Measure(cmd.Context(), postgres); err != nil {
					return err
				}
			}
			return runLoad(cmd.Context(), p.output, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&wanted, "criteria", "A", strings.Join(criteria.Names(criteria.Profiles()), ", "))
	flags.IntVar(&rate, "rate", 0, "increments per second (default: that of the criteria)")
	flags.DurationVar(&duration, "duration", 0, "duration of the run (default: that of the criteria)")
	flags.IntVar(&users, "users", 0, "number of users (default: that of the criteria)")
	flags.StringVar(&ops, "ops", "", opsFlagUsage)
	flags.StringVar(&prometheus, "prometheus", "",
		"URL of a Prometheus that must have loaded the alert rules (default: not checked)")
	flags.StringVar(&redis, "redis", "",
		"URL of the server's Redis, to measure freshness there (default: through the API)")
	flags.StringVar(&scale, "scale", "full", "full, or machine: first measure what the machine can give")
	flags.StringVar(&postgres, "postgres", "",
		"with --scale machine, URL of a database on the server's PostgreSQL, for a schema that is dropped again")
	flags.StringVar(&shard, "shard", "", "share of the load for this generator, such as 2/5")
	flags.BoolVar(&chaos, "chaos", false, "send repeats in parallel, cut requests off and run the faults")
	flags.StringArrayVar(&faults, "fault", nil, "with --chaos, a shell command to run during the load (repeatable)")
	flags.StringVar(&out, "out", "out/accept", "directory for the record and the reports")
	return cmd
}

// checkCriteria rejects --profile with the name of criteria, unless there is such a
// profile: before it was the flag for them.
func checkCriteria(ps *profiles, cmd *cobra.Command) error {
	if !cmd.Flags().Changed("profile") || !slices.Contains(criteria.Names(criteria.Profiles()), ps.chosen) {
		return nil
	}
	if c, err := ps.readConfig(); err == nil {
		if _, exists := c.Profiles[ps.chosen]; exists {
			return nil
		}
	}
	return usagef("no profile %q; did you mean --criteria %s?", ps.chosen, ps.chosen)
}

// chaosShare is the share of increments repeated in parallel, and of requests
// cut off, under --chaos.
const chaosShare = 0.02

// machineInfo describes the machine that the generator runs on.
func machineInfo() record.Machine {
	v := buildinfo.Read()
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	m := record.Machine{
		Host: host, OS: runtime.GOOS + "/" + runtime.GOARCH, CPU: "unknown", Cores: runtime.NumCPU(),
		Go:      runtime.Version(),
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
