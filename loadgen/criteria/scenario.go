package criteria

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Load is the load of a scenario.
type Load struct {
	Rate      int           `yaml:"rate"` // increments per second
	Duration  time.Duration `yaml:"duration"`
	Users     int           `yaml:"users"`
	Skew      float64       `yaml:"skew"`
	Reads     float64       `yaml:"reads"` // per increment
	Repeats   float64       `yaml:"repeats"`
	Conflicts float64       `yaml:"conflicts"`
	Forged    float64       `yaml:"forged"`
	Watchers  int           `yaml:"watchers"`
	Dialect   string        `yaml:"dialect"` // API of the load; "" is the native one
}

// Scenario is a load and the criteria that must hold under it.
type Scenario struct {
	Name     string
	Title    string
	Load     Load
	Criteria []Criterion
	Scaled   bool // it requires less than its file
}

// file is the file of a scenario.
type file struct {
	Title    string   `yaml:"title"`
	Include  []string `yaml:"include"`
	Load     Load     `yaml:"load"`
	Criteria []struct {
		Check  string `yaml:"check"`
		Source string `yaml:"source"`
	} `yaml:"criteria"`
}

// Read reads and validates NAME.yaml and the scenarios that it includes.
func Read(files fs.FS, name string) (*Scenario, error) {
	f, err := readFile(files, name)
	if err != nil {
		return nil, err
	}
	s := &Scenario{Name: name, Title: f.Title, Load: f.Load}
	for _, included := range f.Include {
		other, err := Read(files, included)
		if err != nil {
			return nil, fmt.Errorf("include %s in scenario %s: %w", included, name, err)
		}
		s.Criteria = append(s.Criteria, other.Criteria...)
	}
	for _, line := range f.Criteria {
		c, err := Parse(line.Check, line.Source)
		if err == nil && line.Source == "" {
			err = fmt.Errorf("criterion %q has no source", line.Check)
		}
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", name, err)
		}
		s.Criteria = append(s.Criteria, c)
	}
	if len(s.Criteria) == 0 {
		return nil, fmt.Errorf("scenario %s has no criteria", name)
	}
	return s, nil
}

func readFile(files fs.FS, name string) (*file, error) {
	b, err := fs.ReadFile(files, name+".yaml")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("unknown criteria %q; must be one of %s", name, strings.Join(Names(files), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("read scenario %s: %w", name, err)
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	var f file
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("read scenario %s: %w", name, err)
	}
	return &f, nil
}

// Names returns the names of all scenarios.
func Names(files fs.FS) []string {
	paths, _ := fs.Glob(files, "*.yaml") // the pattern is well formed
	for i, path := range paths {
		paths[i] = strings.TrimSuffix(path, ".yaml")
	}
	slices.Sort(paths)
	return paths
}

// Scale changes the rate, the duration and the number of users; 0 keeps a value.
// Limits on rates and on the duration shrink with them but never grow. A scenario
// with smaller limits or fewer users is marked as scaled.
func (s *Scenario) Scale(rate int, length time.Duration, users int) {
	byRate, byTime := 1.0, 1.0
	if rate > 0 {
		byRate, s.Load.Rate = s.shrink("increments.rate", float64(rate), float64(s.Load.Rate)), rate
	}
	if length > 0 {
		byTime, s.Load.Duration = s.shrink("duration", ms(length), ms(s.Load.Duration)), length
	}
	if users > 0 {
		s.Scaled = s.Scaled || users < s.Load.Users
		s.Load.Users = users
	}
	s.Scaled = s.Scaled || byRate < 1 || byTime < 1
	for i, c := range s.Criteria {
		switch {
		case c.unit == perSecond:
			s.Criteria[i].Limit *= byRate
		case c.Name == "duration":
			s.Criteria[i].Limit *= byTime
		}
	}
}

// shrink is the factor for the limits on a quantity: 1 if the requested value can
// meet the largest of them, and otherwise the ratio of the requested value to that
// of the scenario, which may be slightly above its limit.
func (s *Scenario) shrink(name string, requested, original float64) float64 {
	limit := 0.0
	for _, c := range s.Criteria {
		if c.Name == name {
			limit = max(limit, c.Limit)
		}
	}
	if limit == 0 {
		limit = original
	}
	if requested >= limit {
		return 1
	}
	return requested / original
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
