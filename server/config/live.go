package config

import (
	"slices"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Live reports whether a setting can be changed while the daemon runs. The
// others define what a process is built from: addresses, sizes, backends.
func Live(name string) bool {
	return slices.ContainsFunc(new(Config).settings(), func(s setting) bool { return s.name == name && s.kind == live })
}

// With returns c with the settings that operators have changed, or an
// InvalidError. Their changes take precedence over flags, environment and file:
// those were deployed before. A change without a value restores the deployed one.
func (c *Config) With(stored []scoreboard.StoredSetting) (*Config, error) {
	next := *c
	table := next.settings()
	next.values = slices.Clone(c.values)
	var p problems
	for _, change := range stored {
		i := slices.IndexFunc(table, func(s setting) bool { return s.name == change.Name })
		if i < 0 || change.Value == nil {
			continue // of another version of the daemon, or restored
		}
		s := table[i]
		if s.kind != live {
			p.add(s.name, "cannot be changed while the daemon runs")
			continue
		}
		if err := parse(s.to, *change.Value); err != nil {
			p.add(s.name, "%s", err)
			_ = parse(s.to, s.value) // a default parses
		}
		next.values[i].Text, next.values[i].Source = *change.Value, FromStore
	}
	next.check(&p)
	return &next, p.err()
}

// Values returns all settings as they are in force, secrets masked.
func (c *Config) Values() []Value { return slices.Clone(c.values) }
