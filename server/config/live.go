package config

import (
	"cmp"
	"errors"
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
		next.values[i].Text, next.values[i].Source = s.shown(*change.Value), FromStore
	}
	next.check(&p)
	return &next, p.err()
}

// WithValid returns c with those of the stored settings that are valid here, alone and
// together, and a problem for each that was left out: what one node cannot follow, such
// as a value of a newer version, must not keep it from following the others.
func (c *Config) WithValid(stored []scoreboard.StoredSetting) (*Config, []Problem) {
	next, err := c.With(stored)
	if err == nil {
		return next, nil
	}
	// First without those that are named, then each of them again: the rest may depend
	// on one of them, or be the one to blame.
	valid, left := slices.Clone(stored), []scoreboard.StoredSetting(nil)
	for err != nil && len(valid) > 0 {
		named := func(s scoreboard.StoredSetting) bool { return names(err, s.Name) }
		if !slices.ContainsFunc(valid, named) {
			named = func(scoreboard.StoredSetting) bool { return true }
		}
		for _, s := range valid {
			if named(s) {
				left = append(left, s)
			}
		}
		valid = slices.DeleteFunc(valid, named)
		next, err = c.With(valid)
	}
	if err != nil {
		return c, nil // not valid as deployed, which Load rejects
	}
	for again := true; again; {
		again = false
		left = slices.DeleteFunc(left, func(s scoreboard.StoredSetting) bool {
			more, err := c.With(append(slices.Clone(valid), s))
			if err != nil {
				return false
			}
			valid, next, again = append(valid, s), more, true
			return true
		})
	}
	out := make([]Problem, len(left))
	for i, s := range left {
		_, err := c.With(append(slices.Clone(valid), s))
		out[i] = Problem{s.Name, reason(err, s.Name)}
	}
	slices.SortFunc(out, func(a, b Problem) int { return cmp.Compare(a.Setting, b.Setting) })
	return next, out
}

// names reports whether an InvalidError is about a setting.
func names(err error, setting string) bool {
	var invalid *InvalidError
	return errors.As(err, &invalid) &&
		slices.ContainsFunc(invalid.Problems, func(p Problem) bool { return p.Setting == setting })
}

// reason completes a sentence that begins with the setting's name.
func reason(err error, setting string) string {
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		return "cannot be applied"
	}
	for _, p := range invalid.Problems {
		if p.Setting == setting {
			return p.Detail
		}
	}
	return "cannot be applied: " + invalid.List("; ")
}

// Values returns all settings as they are in force, secrets masked.
func (c *Config) Values() []Value { return slices.Clone(c.values) }
