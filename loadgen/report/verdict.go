package report

import (
	"fmt"
	"slices"

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
	for _, check := range h.Checks {
		c, err := criteria.Parse(check.Text, check.Source)
		if err != nil {
			return err
		}
		if c.IsRate() {
			c.Limit *= share
		}
		value, pass := c.Evaluate(r.Measured)
		line := Criterion{
			Name: c.Name, Source: c.Source, Limit: c.LimitText(), Measured: value, Pass: pass, shown: "not measured",
		}
		if value != nil {
			line.shown = c.Format(*value)
			if peak, ok := r.Measured[peakRate]; ok && c.Name == rate {
				line.Peak = &peak
				line.shown += fmt.Sprintf(" (peak %s)", c.Format(peak))
			}
		} else if line.Skipped = skipped[c.Name]; line.Skipped != "" {
			r.LeftOut = append(r.LeftOut, line)
			continue
		}
		r.Criteria = append(r.Criteria, line)
		if !pass {
			r.Verdict = Failed
		}
	}
	if len(r.LeftOut) > 0 && r.Verdict == Passed {
		r.Verdict = Scaled
	}
	return nil
}

// lines are all criteria. Those that were skipped come last.
func (r *Report) lines() []Criterion { return slices.Concat(r.Criteria, r.LeftOut) }

// headline summarises the verdict.
func (r *Report) headline() string {
	missed, skipped := 0, len(r.LeftOut)
	for _, c := range r.Criteria {
		if !c.Pass {
			missed++
		}
	}
	left := ""
	if skipped > 0 {
		left = fmt.Sprintf(", %d not measured", skipped)
	}
	n := len(r.Criteria) + skipped
	switch {
	case missed > 0:
		return fmt.Sprintf("%s: %d of %d criteria missed%s", r.Verdict, missed, n, left)
	case skipped > 0:
		return fmt.Sprintf("%s: %d of %d criteria met%s", r.Verdict, n-skipped, n, left)
	case r.Verdict == Scaled:
		return fmt.Sprintf("%s: all %d criteria met, by a run smaller than its scenario", r.Verdict, n)
	}
	return fmt.Sprintf("%s: all %d criteria met", r.Verdict, n)
}

// shownVerdict is the measured value with its verdict.
func (c *Criterion) shownVerdict() string {
	word := map[string]string{"ok": "met", "skip": "skipped", "FAIL": "missed"}[c.verdict()]
	return c.shown + ", " + word
}

// verdict is the verdict on one criterion.
func (c *Criterion) verdict() string {
	switch {
	case c.Pass:
		return "ok"
	case c.Skipped != "":
		return "skip"
	}
	return "FAIL"
}
