package loadgen

import (
	"slices"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/loadgen/criteria"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// Server is the server under load and the credentials for it.
type Server struct {
	URL       string
	Token     string // with scope score:update, because it writes for many users
	KeyID     string
	KeySecret string

	dialect string // URL of the plan's dialect; "" for the native API
}

// Options configure a run.
type Options struct {
	Server Server
	Plan   plan.Plan
	// Scenario holds the criteria. Without one, only errors and the achieved rate
	// are checked.
	Scenario *criteria.Scenario
	// Thresholds are criteria of a load without a scenario. Each replaces a default one on the same quantity.
	Thresholds []criteria.Criterion
	Ops        string // URL of the server's metrics
	Prometheus string // URL of a Prometheus that must have loaded the alert rules; empty skips the check
	Redis      string // URL of the server's Redis, to measure freshness there; empty reads through the API
	// Faults are shell commands that run at even intervals during the load.
	Faults  []string
	Shard   record.Shard // the part of the plan for this generator; the zero value is all of it
	Out     string       // folder of raw.zst, report.json and report.html; empty writes none
	Machine record.Machine
	Say     func(format string, args ...any) // receives messages about the run
	Show    func(Progress)                   // receives the progress once a second
	Settle  time.Duration                    // how long a score may take to appear after the load; 15 s by default

	prefix string // of the users of a whole search; by default that of the plan
}

// defaultChecks are the criteria of a load without a scenario.
var defaultChecks = []record.Check{
	{Text: "samples > 0", Source: "a run without samples proves nothing"},
	{Text: "errors < 1%", Source: "specification A, acceptance criteria"},
	{Text: "behind <= 1%", Source: "a generator that falls behind measures itself"},
}

// checks are the criteria of the run.
func (o *Options) checks() (all []record.Check) {
	limits := o.Thresholds
	if o.Scenario != nil {
		limits = o.Scenario.Criteria
	}
	for _, c := range limits {
		all = append(all, record.Check{Text: c.String(), Source: c.Source})
	}
	if o.Scenario != nil {
		return all
	}
	for _, check := range defaultChecks {
		name, _, _ := strings.Cut(check.Text, " ")
		if !slices.ContainsFunc(limits, func(c criteria.Criterion) bool { return c.Name == name }) {
			all = append(all, check)
		}
	}
	return all
}

// RawFile is the name of the record in the folder of a run.
const RawFile = "raw.zst"

// Parameters describes the run by the names of its settings.
func (o *Options) Parameters() map[string]any {
	p := &o.Plan
	m := map[string]any{
		"server": o.Server.URL, "rate": p.Schedule.String(), "seconds": p.Schedule.Duration().Seconds(),
		"users": p.Users, "skew": p.Skew, "seed": p.Seed, "mode": string(p.Mode), "connections": p.Connections,
		"reads": p.Reads, "repeats": p.Repeats, "conflicts": p.Conflicts, "forged": p.Forged,
	}
	if p.Mode == plan.Batch {
		m["batch"] = p.BatchSize
	}
	if p.Dialect != "" {
		m["dialect"] = p.Dialect
	}
	if len(p.Boards) > 0 {
		m["boards"] = p.Boards
	}
	if p.Parallel > 0 {
		m["parallel"] = p.Parallel
	}
	if p.Cut > 0 {
		m["cut"] = p.Cut
	}
	if len(o.Faults) > 0 {
		m["faults"] = o.Faults
	}
	if o.Shard.Of > 1 {
		m["shard"] = o.Shard.String()
	}
	if o.Scenario != nil {
		m["profile"], m["watchers"] = o.Scenario.Name, o.Scenario.Load.Watchers
	}
	return m
}
