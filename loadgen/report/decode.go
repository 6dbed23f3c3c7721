package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode"
	"unicode/utf8"

	"github.com/scoreboard/scoreboard/loadgen/criteria"
)

// Bounds of a report that Decode accepts. A run of a day in slices of a second is larger,
// but so is its file than anyone wants to read.
const (
	maxName     = 128 // bytes of a profile or version
	maxEntries  = 1000
	maxTimeline = 10_000
)

// Decode reads a report that JSON has written. It rejects unknown fields, verdicts and
// sizes, so that the result can be shown, compared and written again.
func Decode(body []byte) (*Report, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	var r *Report
	if err := d.Decode(&r); err != nil {
		return nil, errors.New("not a report of sbctl: it does not match the fields of report.json")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("not a report of sbctl: data after the JSON object")
	}
	if r == nil {
		return nil, errors.New("not a report of sbctl: it is null")
	}
	r.Comparison = nil // with a run that is not part of it
	if err := r.check(); err != nil {
		return nil, err
	}
	for _, lines := range [][]Criterion{r.Criteria, r.LeftOut} {
		for i := range lines {
			lines[i].format()
		}
	}
	return r, nil
}

func (r *Report) check() error {
	switch r.Verdict {
	case Passed, Failed, Scaled:
	default:
		return fmt.Errorf("the verdict must be %s, %s or %s", Passed, Failed, Scaled)
	}
	for name, value := range map[string]string{"profile": r.Profile, "version": r.Machine.Version} {
		if len(value) > maxName || !utf8.ValidString(value) || !printable(value) {
			return fmt.Errorf("the %s must be at most %d printable characters", name, maxName)
		}
	}
	if year := r.Began.UTC().Year(); year < 2000 || year > 9999 {
		return errors.New("began must be a time after the year 2000")
	}
	if r.Seconds < 0 || r.Rate < 0 || r.Latency.P95 < 0 || r.Latency.P99 < 0 ||
		r.Succeeded+r.CutOff > r.Sent || r.Succeeded > math.MaxInt64 {
		return errors.New("seconds, rates, latencies and counts must not be negative, nor more succeed than were sent")
	}
	if len(r.Criteria)+len(r.LeftOut) > maxEntries || len(r.Errors) > maxEntries || len(r.Notes) > maxEntries ||
		len(r.Statuses) > maxEntries || len(r.Parameters) > maxEntries || len(r.Measured) > maxEntries {
		return fmt.Errorf("a list has more than %d entries", maxEntries)
	}
	if len(r.Timeline) > maxTimeline {
		return fmt.Errorf("the timeline has more than %d slices", maxTimeline)
	}
	return nil
}

func printable(s string) bool {
	for _, c := range s {
		if !unicode.IsPrint(c) {
			return false
		}
	}
	return true
}

// format restores how the measured value is shown, which is not part of the JSON.
func (c *Criterion) format() {
	if c.Measured == nil {
		c.shown = "not measured"
		return
	}
	c.shown = short(*c.Measured)
	if parsed, err := criteria.Parse(c.Name+" "+c.Limit, c.Source); err == nil {
		c.shown = parsed.Format(*c.Measured)
	}
}

// short formats a value whose unit is not known.
func short(v float64) string { return decimal(v, 3) }

// Facts are the report's most important figures as text: a title and a value each.
func (r *Report) Facts() (all [][2]string) {
	for _, c := range r.cards() {
		value := c.Value
		if c.Note != "" {
			value += " (" + c.Note + ")"
		}
		all = append(all, [2]string{c.Title, value})
	}
	return all
}

// Verdicts are the criteria as text, those that were skipped last: the verdict (ok, skip or
// FAIL), the name, the measured value, the limit and the source each.
func (r *Report) Verdicts() (all [][5]string) {
	for _, c := range r.lines() {
		all = append(all, [5]string{c.verdict(), c.Name, c.shown, c.Limit, c.Source})
	}
	return all
}

// Distributions are the measured latencies with their titles.
func (r *Report) Distributions() (titles []string, all []Latency) {
	for _, row := range r.rows() {
		if row.l.N > 0 {
			titles, all = append(titles, row.name), append(all, row.l)
		}
	}
	return titles, all
}
