package loadgen

import (
	"time"

	"github.com/scoreboard/scoreboard/loadgen/criteria"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// Options say what is run.
type Options struct {
	Server Server
	Plan   Plan
	// Scenario is what the server is held to; with none a load is played and
	// judged by its errors alone.
	Scenario   *criteria.Scenario
	Ops        string // where the server shows its metrics
	Prometheus string // which must have the alert rules loaded; not asked where it is empty
	Redis      string // URL of the server's Redis, to read freshness from; through the API where it is empty
	// Faults are commands of the shell that are run in the middle of the load,
	// at even distances.
	Faults  []string
	Shard   record.Shard // which part of the plan this generator plays; the zero value is all
	Out     string       // the folder of raw.zst, report.json and report.html; none is written where it is empty
	Machine record.Machine
	Say     func(format string, args ...any) // is told what goes on, in sentences
	Show    func(Progress)                   // is told how it goes, once a second
	Settle  time.Duration                    // how long after the load a score may take to appear; 15 s when 0
}

// plain are the criteria of a load without a scenario.
var plain = []record.Check{
	{Text: "samples > 0", Source: "a run without samples proves nothing"},
	{Text: "errors < 1%", Source: "specification A, acceptance criteria"},
	{Text: "behind <= 1%", Source: "a generator that falls behind measures itself"},
}

// RawFile is the name of the record in the folder of a run.
const RawFile = "raw.zst"

// Parameters are what a run is made of, by name.
func (o *Options) Parameters() map[string]any {
	p := &o.Plan
	m := map[string]any{
		"server": o.Server.URL, "rate": p.Pace.String(), "seconds": p.Pace.Duration().Seconds(), "users": p.Users, "skew": p.Skew,
		"seed": p.Seed, "mode": string(p.Mode), "reads": p.Reads, "repeats": p.Repeats, "conflicts": p.Conflicts, "forged": p.Forged,
		"connections": p.Connections,
	}
	for name, there := range map[string]bool{"batch": p.Mode == Batch, "boards": len(p.Boards) > 0, "parallel": p.Parallel > 0, "cut": p.Cut > 0} {
		if there {
			m[name] = map[string]any{"batch": p.Size, "boards": p.Boards, "parallel": p.Parallel, "cut": p.Cut}[name]
		}
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
