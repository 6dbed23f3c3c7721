package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/loadgen/criteria"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// evaluate evaluates the criteria of the header. A run that is smaller than its
// scenario, or that skipped a criterion, cannot pass.
func (r *Report) evaluate(h record.Header, shards int, skipped map[string]string) error {
	r.Verdict = Passed
	share := 1.0 // of all generators
	if h.Shard.Of > 1 {
		share = float64(shards) / float64(h.Shard.Of)
	}
	if h.Scaled || r.Cut || share < 1 {
		r.Verdict = Scaled
	}
	checks := make([]criteria.Criterion, len(h.Checks))
	for i, check := range h.Checks {
		var err error
		if checks[i], err = criteria.Parse(check.Text, check.Source); err != nil {
			return err
		}
		if checks[i].IsRate() {
			checks[i].Limit *= share
		}
	}
	weak := weakness(h.Machine.Capacity, checks)
	failed, undecidable := false, false
	for _, c := range checks {
		value, pass := c.Evaluate(r.Measured)
		line := Criterion{
			Name: c.Name, Source: c.Source, Limit: c.LimitText(), Measured: value, Pass: pass, shown: "not measured",
		}
		if give, measured := gives(h.Machine.Capacity, c); measured {
			line.Machine = &give
		}
		if value != nil {
			line.shown = shownValue(c, *value)
			if peak, ok := r.Measured[peakRate]; ok && c.Name == rate {
				line.Peak = &peak
				line.shown += fmt.Sprintf(" (peak %s)", c.Format(peak))
			}
		} else if line.Skipped = skipped[c.Name]; line.Skipped != "" {
			r.LeftOut = append(r.LeftOut, line)
			continue
		}
		if !pass && value != nil {
			line.spark, line.Where = r.where(c)
		}
		switch {
		case pass:
		case weak != "" && c.DependsOnMachine():
			line.Undecidable, undecidable = weak, true
		default:
			failed = true
		}
		r.Criteria = append(r.Criteria, line)
	}
	switch {
	case failed:
		r.Verdict = Failed
	case undecidable:
		r.Verdict = Undecidable
	case len(r.LeftOut) > 0:
		r.Verdict = Scaled
	}
	return nil
}

// shownValue formats a measured value as the rest of the report does, with its digits if rounding
// would put it on the other side of the limit.
func shownValue(c criteria.Criterion, v float64) string {
	if !c.IsDuration() || v >= 10_000 { // longer ones are in minutes and seconds
		return c.Format(v)
	}
	rounded := v
	switch {
	case v >= 1000:
		rounded = math.Round(v)
	case v >= 1:
		rounded = math.Round(v*10) / 10
	}
	_, pass := c.Evaluate(map[string]float64{c.Name: v})
	if _, same := c.Evaluate(map[string]float64{c.Name: rounded}); same != pass {
		return decimal(v, 3) + milliseconds
	}
	return withUnit(v, milliseconds)
}

// shownLimit is the limit with its unit as in the rest of the report.
func (c *Criterion) shownLimit() string {
	if number, found := strings.CutSuffix(c.Limit, "ms"); found {
		return number + milliseconds
	}
	return c.Limit
}

// gives is what the machine can give at all of a rate that the criterion limits.
func gives(c *record.Capacity, of criteria.Criterion) (perSecond float64, measured bool) {
	switch {
	case c == nil || !of.IsRate():
		return 0, false
	case of.Name == "reads.rate":
		return c.HTTP, true
	}
	return c.Increments(), true
}

// weakness says that the machine cannot give a rate that the criteria ask for, or nothing.
func weakness(c *record.Capacity, checks []criteria.Criterion) string {
	for _, check := range checks {
		if give, measured := gives(c, check); measured && give < check.Limit {
			by := fmt.Sprintf("%s/s of requests to an empty HTTP server", english.Grouped(uint64(c.HTTP)))
			if c.Transactions > 0 {
				by += fmt.Sprintf(" and %s/s of specification A's transaction alone",
					english.Grouped(uint64(c.Transactions)))
			}
			return fmt.Sprintf("this machine gives %s, and %s asks for %s", by, check.Name, check.LimitText())
		}
	}
	return ""
}

// lines are all criteria: first those that were missed, last those that were skipped.
func (r *Report) lines() []Criterion {
	all := slices.Concat(r.Criteria, r.LeftOut)
	slices.SortStableFunc(all, func(a, b Criterion) int { return a.urgency() - b.urgency() })
	return all
}

// urgency orders criteria by how soon a reader wants to see them.
func (c *Criterion) urgency() int {
	return slices.Index([]string{"FAIL", "open", "ok", "skip"}, c.verdict())
}

// headline summarises the verdict.
func (r *Report) headline() string {
	missed, skipped, why := 0, len(r.LeftOut), ""
	for _, c := range r.Criteria {
		if !c.Pass {
			missed++
		}
		if c.Undecidable != "" {
			why = c.Undecidable
		}
	}
	left := ""
	if skipped > 0 {
		left = fmt.Sprintf(", %d not measured", skipped)
	}
	n := len(r.Criteria) + skipped
	switch {
	case r.Verdict == Undecidable:
		return fmt.Sprintf("%s: %d of %d criteria missed%s, but %s", r.Verdict, missed, n, left, why)
	case missed > 0:
		return fmt.Sprintf("%s: %d of %d criteria missed%s", r.Verdict, missed, n, left)
	case skipped > 0:
		return fmt.Sprintf("%d of %d criteria met%s", n-skipped, n, left)
	case r.Verdict == Scaled:
		return fmt.Sprintf("all %d criteria met, by a run smaller than its scenario", n)
	}
	return fmt.Sprintf("%s: all %d criteria met", r.Verdict, n)
}

// shownVerdict is the measured value with its verdict.
func (c *Criterion) shownVerdict() string {
	word := map[string]string{"ok": "met", "skip": "skipped", "open": "undecidable", "FAIL": "missed"}[c.verdict()]
	return c.shown + ", " + word
}

// verdict is the verdict on one criterion.
func (c *Criterion) verdict() string {
	switch {
	case c.Pass:
		return "ok"
	case c.Skipped != "":
		return "skip"
	case c.Undecidable != "":
		return "open"
	}
	return "FAIL"
}
