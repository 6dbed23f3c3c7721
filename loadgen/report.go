package loadgen

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The verdicts of a report.
const (
	Passed = "passed"
	Failed = "failed"
)

// Report is what a run came to. It is written as report.json.
type Report struct {
	Verdict   string      `json:"verdict"`
	Criteria  []Criterion `json:"criteria"`
	Began     time.Time   `json:"began"`
	Seconds   float64     `json:"seconds"` // of traffic
	Cut       bool        `json:"cut"`     // ended before its time
	Plan      PlanReport  `json:"plan"`
	Asked     uint64      `json:"asked"` // increments that fell due
	Sent      uint64      `json:"sent"`  // by the end; the rest is what it was behind
	Succeeded uint64      `json:"succeeded"`
	Rate      float64     `json:"rate"` // achieved: succeeded a second
	// FromDue is the latency that users would feel; Service leaves out the
	// wait for a free connection; Late is that wait alone.
	FromDue  Latency           `json:"latency_from_due_ms"`
	Service  Latency           `json:"latency_service_ms"`
	Late     Latency           `json:"late_ms"`
	Statuses map[string]uint64 `json:"statuses"`
	Errors   []Count           `json:"errors"`
}

// PlanReport is the plan, as it is reported.
type PlanReport struct {
	Rate    int     `json:"rate"`
	Seconds float64 `json:"seconds"`
	Users   int     `json:"users"`
	Skew    float64 `json:"skew"`
	Seed    uint64  `json:"seed"`
}

// Latency is a distribution in milliseconds.
type Latency struct {
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Count is how often something happened.
type Count struct {
	What string `json:"what"`
	N    uint64 `json:"n"`
}

// Criterion is one measured thing against its limit.
type Criterion struct {
	Name     string  `json:"name"`
	Source   string  `json:"source"`
	Limit    string  `json:"limit"`
	Measured float64 `json:"measured"`
	Pass     bool    `json:"pass"`
}

// maxPercent is how many percent may fail, and how many may not be sent in time.
const maxPercent = 1.0

// judge makes the report of a run that lasted so long.
func (r *recorder) judge(began time.Time, lasted time.Duration, cut bool) *Report {
	p := r.plan
	asked := p.expected(lasted)
	report := &Report{
		Began: began.UTC(), Seconds: lasted.Seconds(), Cut: cut,
		Plan:  PlanReport{Rate: p.Rate, Seconds: p.Duration.Seconds(), Users: p.Users, Skew: p.Skew, Seed: p.Seed},
		Asked: asked, Sent: r.samples, Succeeded: r.samples - r.failed,
		FromDue: latency(r.fromDue), Service: latency(r.service), Late: latency(r.late),
		Statuses: r.statuses, Errors: r.errorCounts(),
	}
	report.Rate = float64(report.Succeeded) / max(lasted.Seconds(), 0.001)
	behind := max(float64(asked)-float64(r.samples), 0)
	report.Criteria = []Criterion{
		{"samples", "a run without samples proves nothing", "> 0", float64(r.samples), r.samples > 0},
		{"errors in percent", "specification A", "< 1", percent(float64(r.failed), float64(r.samples)), percent(float64(r.failed), float64(r.samples)) < maxPercent},
		{"behind in percent", "a generator that falls behind measures itself", "<= 1", percent(behind, float64(asked)), percent(behind, float64(asked)) <= maxPercent},
	}
	report.Verdict = Passed
	for _, c := range report.Criteria {
		if !c.Pass {
			report.Verdict = Failed
		}
	}
	return report
}

// percent of nothing is everything: what was not measured has not passed.
func percent(part, whole float64) float64 {
	if whole == 0 {
		return 100
	}
	return 100 * part / whole
}

// Write puts report.json into a folder, which it makes.
func (r *Report) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "report.json"), append(b, '\n'), 0o644)
}

// Text is the report for a person.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: asked %d/s for %.0f s, achieved %.1f/s over %.1f s\n", r.Verdict, r.Plan.Rate, r.Plan.Seconds, r.Rate, r.Seconds)
	if r.Cut {
		b.WriteString("it was ended before its time\n")
	}
	fmt.Fprintf(&b, "%d fell due, %d were sent, %d succeeded\n\n", r.Asked, r.Sent, r.Succeeded)
	fmt.Fprintf(&b, "%-22s %9s %9s %9s %9s %9s\n", "latency in ms", "p50", "p95", "p99", "p99.9", "max")
	for _, row := range []struct {
		name string
		l    Latency
	}{{"from when due", r.FromDue}, {"from when sent", r.Service}, {"sent late by", r.Late}} {
		fmt.Fprintf(&b, "%-22s %9.1f %9.1f %9.1f %9.1f %9.1f\n", row.name, row.l.P50, row.l.P95, row.l.P99, row.l.P999, row.l.Max)
	}
	b.WriteByte('\n')
	for _, c := range r.Criteria {
		mark := "ok  "
		if !c.Pass {
			mark = "FAIL"
		}
		fmt.Fprintf(&b, "%s %-18s %10.2f  limit %s\n", mark, c.Name, c.Measured, c.Limit)
	}
	for _, e := range r.Errors {
		fmt.Fprintf(&b, "%8d x %s\n", e.N, e.What)
	}
	return b.String()
}
