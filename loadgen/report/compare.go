package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scoreboard/scoreboard/internal/english"
)

// The verdicts of a comparison, and the results of its metrics.
const (
	Incomparable = "incomparable" // of a comparison: the runs differ in what they did
	Regressed    = "regressed"    // worse by more than the threshold
	Improved     = "improved"     // better by more than the threshold
	Unchanged    = "unchanged"
	Missing      = "missing" // measured by the other run, not by this one
	New          = "new"     // not measured by the other run
)

// Comparison is the verdict on a run against another run.
type Comparison struct {
	// Verdict is incomparable, regressed if at least one metric or criterion regressed or is
	// missing, else improved if at least one improved, else unchanged.
	Verdict string `json:"verdict"`
	// Mismatches make the runs incomparable: nothing is judged then.
	Mismatches []Difference `json:"mismatches,omitempty"`
	// Differences do not, but may explain a change.
	Differences []Difference `json:"differences,omitempty"`
	Metrics     []Metric     `json:"metrics"`
	// Criteria are those that both runs have with the same limit, which is their threshold.
	// One that was met and is not any more regressed.
	Criteria []Metric `json:"criteria"`

	other *Report
}

// Difference is a field in which two runs differ. A run may lack a field.
type Difference struct {
	Field string `json:"field"`
	This  string `json:"this,omitempty"`
	Other string `json:"other,omitempty"`
}

// Metric is a value of two runs: a rate per second, a share in percent, a count or a time in
// milliseconds. It is null if it was not measured.
type Metric struct {
	Name          string   `json:"name"`
	This          *float64 `json:"this"`
	Other         *float64 `json:"other"`
	ChangePercent *float64 `json:"change_percent,omitempty"` // from the other run; not of shares
	Threshold     string   `json:"threshold,omitempty"`
	Result        string   `json:"result,omitempty"` // empty if it was not judged

	title, this, other, change string
}

// Against compares the run with an earlier one, and adds the comparison to the report.
func (r *Report) Against(other *Report, thresholds []Threshold) {
	c := &Comparison{other: other, Metrics: []Metric{}, Criteria: []Metric{}}
	c.Mismatches, c.Differences = differences(r, other)
	for _, q := range compared {
		t, judged := thresholdOf(q, thresholds)
		if m, ok := compareQuantity(q, t, judged, r, other); ok {
			c.Metrics = append(c.Metrics, m)
		}
	}
	c.compareCriteria(r, other)
	c.Verdict = c.verdict()
	if c.Verdict == Incomparable {
		for _, metrics := range [][]Metric{c.Metrics, c.Criteria} {
			for i := range metrics {
				metrics[i].Result = ""
			}
		}
	}
	r.Comparison = c
}

func (c *Comparison) verdict() string {
	switch {
	case len(c.Mismatches) > 0:
		return Incomparable
	case len(c.with(Regressed))+len(c.with(Missing)) > 0:
		return Regressed
	case len(c.with(Improved)) > 0:
		return Improved
	}
	return Unchanged
}

// with lists the metrics and criteria with a result.
func (c *Comparison) with(result string) (names []string) {
	for _, m := range slices.Concat(c.Metrics, c.Criteria) {
		if m.Result == result && !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

// Failed reports whether a gate must stop: something regressed, or nothing could be judged.
func (c *Comparison) Failed() bool { return c.Verdict == Incomparable || c.Verdict == Regressed }

// compareQuantity compares a quantity. ok is false if neither run has it.
func compareQuantity(q quantity, t Threshold, judged bool, r, other *Report) (m Metric, ok bool) {
	m = Metric{Name: q.name, title: q.title, this: "not measured", other: "not measured"}
	this, has := r.Measured[q.name]
	was, had := other.Measured[q.name]
	if !has && !had || q.name == "reads.rate" && r.Reads.N == 0 && other.Reads.N == 0 {
		return m, false
	}
	if judged {
		m.Threshold = t.text(q)
	}
	if has {
		m.This, m.this = &this, withUnit(this, q.unit)
	}
	if had {
		m.Other, m.other = &was, withUnit(was, q.unit)
	}
	if has && had {
		if q.unit == share {
			m.change = signed(this-was, 2) + " points"
		} else if was > 0 {
			change := 100 * (this - was) / was
			m.ChangePercent, m.change = &change, signed(change, 0)+"%"
		}
	}
	switch {
	case !judged:
	case !has:
		m.Result = Missing
	case !had:
		m.Result = New
	default:
		m.Result = t.judge(q, this, was)
	}
	return m, true
}

// compareCriteria compares the verdicts on the criteria of both runs.
func (c *Comparison) compareCriteria(r, other *Report) {
	others := map[string]Criterion{}
	for _, o := range other.lines() {
		others[o.Name] = o
	}
	for _, this := range r.lines() {
		was, both := others[this.Name]
		delete(others, this.Name)
		if !both || was.Limit != this.Limit {
			c.Differences = append(c.Differences, Difference{"limit of " + this.Name, this.Limit, was.Limit})
			continue
		}
		m := Metric{
			Name: this.Name, This: this.Measured, Other: was.Measured, Threshold: this.Limit, Result: Unchanged,
			this: this.shownVerdict(), other: was.shownVerdict(),
		}
		switch {
		case was.Pass && this.Measured == nil:
			m.Result = Missing
		case was.Pass && !this.Pass:
			m.Result = Regressed
		case was.Measured == nil && this.Measured != nil:
			m.Result = New
		case !was.Pass && this.Pass:
			m.Result = Improved
		}
		c.Criteria = append(c.Criteria, m)
	}
	for _, was := range other.lines() {
		if _, left := others[was.Name]; left {
			c.Differences = append(c.Differences, Difference{Field: "limit of " + was.Name, Other: was.Limit})
		}
	}
}

// differences are the fields in which two runs differ. Runs with other parameters did
// something else; the seed, the build and the machine do not change what they did.
func differences(r, other *Report) (mismatches, rest []Difference) {
	these, others := fields(r), fields(other)
	for _, f := range these {
		was := valueOf(others, f.Field)
		if f.This == was {
			continue
		}
		mismatches = append(mismatches, Difference{f.Field, f.This, was})
	}
	for _, f := range others {
		if valueOf(these, f.Field) == "" && f.This != "" {
			mismatches = append(mismatches, Difference{Field: f.Field, Other: f.This})
		}
	}
	// How long a run lasts varies by its last response.
	apart := math.Abs(r.Seconds - other.Seconds)
	if len(mismatches) == 0 && apart > 0.01*max(r.Seconds, other.Seconds) {
		mismatches = append(mismatches, Difference{
			"seconds of traffic", fmt.Sprintf("%.1f", r.Seconds), fmt.Sprintf("%.1f", other.Seconds),
		})
	}
	for _, f := range []Difference{
		{"seed", parameterText(r.Parameters["seed"]), parameterText(other.Parameters["seed"])},
		{"version", r.Machine.Version, other.Machine.Version},
		{"commit", r.Machine.Commit, other.Machine.Commit},
		{"Go version", r.Machine.Go, other.Machine.Go},
		{"machine", machineText(r), machineText(other)},
	} {
		if f.This != f.Other {
			rest = append(rest, f)
		}
	}
	return mismatches, rest
}

// fields are what a run did.
func fields(r *Report) (all []Difference) {
	for _, line := range parameterLines(r.Parameters) {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "seed", "shard", "profile": // not part of it, or below
		default:
			all = append(all, Difference{Field: name, This: value})
		}
	}
	ended := "no"
	if r.Cut {
		ended = "yes"
	}
	return append(all,
		Difference{Field: "criteria", This: cmp.Or(r.Profile, "none")},
		Difference{Field: "generators", This: cmp.Or(r.Shards, "1 of 1")},
		Difference{Field: "ended early", This: ended})
}

func valueOf(all []Difference, field string) string {
	for _, f := range all {
		if f.Field == field {
			return f.This
		}
	}
	return ""
}

func machineText(r *Report) string {
	return fmt.Sprintf("%s, %s, %s", r.Machine.Host, r.Machine.CPU, english.Count(uint64(r.Machine.Cores), "core"))
}

// withUnit formats a value: with one decimal, or with up to three if it is below 1.
func withUnit(v float64, unit string) string {
	switch {
	case v >= 1000:
		return english.Grouped(uint64(math.Round(v))) + unit
	case v >= 1:
		return fmt.Sprintf("%.1f", v) + unit
	case v > 0 && v < 0.001:
		return "<0.001" + unit
	}
	return decimal(v, 3) + unit
}

// signed formats a change. One that is rounded to 0 has no sign.
func signed(v float64, digits int) string {
	s := decimal(v, digits)
	switch {
	case s == "-0":
		return "0"
	case s != "0" && v > 0:
		return "+" + s
	}
	return s
}

// Row is a line of a comparison as text.
type Row struct {
	Name, Title, This, Other, Change, Threshold string
	// Result is that of a metric, "mismatch" for a field that makes the runs incomparable, or
	// "differs" for another field.
	Result string
}

// Rows are the lines of the comparison as text, without the criteria that are unchanged.
func (c *Comparison) Rows() []Row {
	var rows []Row
	add := func(differences []Difference, result string) {
		for _, d := range differences {
			this, other := cmp.Or(d.This, "–"), cmp.Or(d.Other, "–")
			rows = append(rows, Row{Name: d.Field, This: this, Other: other, Result: result})
		}
	}
	add(c.Mismatches, "mismatch")
	add(c.Differences, "differs")
	for _, m := range c.Metrics {
		rows = append(rows, Row{m.Name, m.title, m.this, m.other, m.change, m.Threshold, m.Result})
	}
	for _, m := range c.Criteria {
		if m.Result != Unchanged && m.Result != "" {
			rows = append(rows, Row{"criterion " + m.Name, "", m.this, m.other, "", m.Threshold, m.Result})
		}
	}
	return rows
}

// Summary is the comparison in one line.
func (c *Comparison) Summary() string {
	if c.Verdict == Incomparable {
		var names []string
		for _, m := range c.Mismatches {
			names = append(names, m.Field)
		}
		return "incomparable: the runs differ in " + strings.Join(names, ", ") + "; nothing was compared"
	}
	var parts []string
	for _, result := range []string{Regressed, Missing, Improved, Unchanged} {
		switch names := c.with(result); {
		case len(names) == 0:
		case result == Unchanged:
			parts = append(parts, fmt.Sprintf("%d unchanged", len(names)))
		default:
			parts = append(parts, result+" "+strings.Join(names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}
