package report

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/loadgen/record"
)

// twice returns two reports of the same record, to be changed and compared.
func twice(t *testing.T) (r, other *Report) {
	t.Helper()
	for _, to := range []**Report{&r, &other} {
		var err error
		if *to, _, err = Make(recorded(t)); err != nil {
			t.Fatal(err)
		}
	}
	return r, other
}

func results(c *Comparison) map[string]string {
	all := map[string]string{}
	for _, m := range c.Metrics {
		all[m.Name] = m.Result
	}
	for _, m := range c.Criteria {
		all["criterion "+m.Name] = m.Result
	}
	return all
}

func TestRunsAreJudged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		this, other map[string]float64 // measured values to replace; a negative one was not measured
		thresholds  []string
		verdict     string
		want        map[string]string
	}{
		"a run against itself": {verdict: Unchanged, want: map[string]string{
			"api.p95": Unchanged, "increments.rate": Unchanged, "api.service.p99": "", "api.p99.9": "",
		}},
		"latency at its threshold": {
			map[string]float64{"api.p95": 110},
			map[string]float64{"api.p95": 100},
			nil, Unchanged,
			map[string]string{"api.p95": Unchanged},
		},
		"latency beyond it": {
			map[string]float64{"api.p95": 111},
			map[string]float64{"api.p95": 100},
			nil, Regressed,
			map[string]string{"api.p95": Regressed},
		},
		"better latency": {
			map[string]float64{"api.p95": 89},
			map[string]float64{"api.p95": 100},
			nil, Improved,
			map[string]string{"api.p95": Improved},
		},
		"one better, one worse": {
			map[string]float64{"api.p95": 89, "reads.p99": 200},
			map[string]float64{"api.p95": 100, "reads.p99": 100},
			nil, Regressed,
			map[string]string{"api.p95": Improved, "reads.p99": Regressed},
		},
		"a millisecond is noise": {
			map[string]float64{"api.p50": 1.4},
			map[string]float64{"api.p50": 0.5},
			nil, Unchanged,
			map[string]string{"api.p50": Unchanged},
		},
		"unless the threshold is absolute": {
			map[string]float64{"api.p50": 1.4},
			map[string]float64{"api.p50": 0.5},
			[]string{"api.p50=500us"},
			Regressed,
			map[string]string{"api.p50": Regressed},
		},
		"lower rate": {
			map[string]float64{"increments.rate": 94},
			map[string]float64{"increments.rate": 100},
			nil, Regressed,
			map[string]string{"increments.rate": Regressed},
		},
		"higher rate": {
			map[string]float64{"increments.rate": 106},
			map[string]float64{"increments.rate": 100},
			nil, Improved,
			map[string]string{"increments.rate": Improved},
		},
		"errors are in points": {
			map[string]float64{"errors": 0.09},
			map[string]float64{"errors": 0},
			nil, Unchanged,
			map[string]string{"errors": Unchanged},
		},
		"errors from nothing": {
			map[string]float64{"errors": 0.11},
			map[string]float64{"errors": 0},
			nil, Regressed,
			map[string]string{"errors": Regressed},
		},
		"a threshold for all ends": {
			map[string]float64{"api.p95": 130, "reads.p95": 130},
			map[string]float64{"api.p95": 100, "reads.p95": 100},
			[]string{"p95=40%"},
			Unchanged,
			map[string]string{"api.p95": Unchanged, "reads.p95": Unchanged},
		},
		"the full name wins": {
			map[string]float64{"api.p95": 130, "reads.p95": 130},
			map[string]float64{"api.p95": 100, "reads.p95": 100},
			[]string{"api.p95=20%", "p95=40%"},
			Regressed,
			map[string]string{"api.p95": Regressed, "reads.p95": Unchanged},
		},
		"a threshold judges what is only shown": {
			map[string]float64{"late.p99": 130},
			map[string]float64{"late.p99": 100},
			[]string{"late.p99=20%"},
			Regressed,
			map[string]string{"late.p99": Regressed},
		},
		"but not by the end of its name": {
			map[string]float64{"late.p99": 130},
			map[string]float64{"late.p99": 100},
			[]string{"p99=20%"},
			Unchanged,
			map[string]string{"late.p99": ""},
		},
		"the end of what is only shown": {
			map[string]float64{"api.p99.9": 130},
			map[string]float64{"api.p99.9": 100},
			[]string{"p99.9=20%"},
			Regressed,
			map[string]string{"api.p99.9": Regressed},
		},
		"not measured any more": {
			map[string]float64{"freshness.redis.p95": -1},
			nil, nil, Regressed,
			map[string]string{"freshness.redis.p95": Missing},
		},
		"measured for the first time": {
			nil,
			map[string]float64{"freshness.redis.p95": -1},
			nil, Unchanged,
			map[string]string{"freshness.redis.p95": New},
		},
	} {
		r, other := twice(t)
		set := func(to *Report, values map[string]float64) {
			for name, v := range values {
				if to.Measured[name] = v; v < 0 {
					delete(to.Measured, name)
				}
			}
		}
		set(r, c.this)
		set(other, c.other)
		var thresholds []Threshold
		for _, text := range c.thresholds {
			parsed, err := ParseThreshold(text)
			if err != nil {
				t.Fatal(err)
			}
			thresholds = append(thresholds, parsed)
		}
		r.Against(other, thresholds)
		if r.Comparison.Verdict != c.verdict || r.Comparison.Failed() != (c.verdict == Regressed) {
			t.Errorf("%s: got %s, want %s", name, r.Comparison.Summary(), c.verdict)
		}
		for metric, want := range c.want {
			if got := results(r.Comparison)[metric]; got != want {
				t.Errorf("%s: %s: got %q, want %q", name, metric, got, want)
			}
		}
	}
}

// A criterion that was met and is not any more is a regression, whatever the thresholds.
func TestCriteriaAreCompared(t *testing.T) {
	t.Parallel()
	r, other := twice(t)
	lost := slices.IndexFunc(r.Criteria, func(c Criterion) bool { return c.Name == "lost" })
	p99 := slices.IndexFunc(other.Criteria, func(c Criterion) bool { return c.Name == "api.p99" })
	r.Criteria[lost].Pass, r.Criteria[p99].Pass = false, true
	other.Criteria[lost+1].Limit = "<= 5ms"
	r.Against(other, nil)
	got := results(r.Comparison)
	if got["criterion lost"] != Regressed || got["criterion api.p99"] != Improved || r.Comparison.Verdict != Regressed {
		t.Errorf("got %s: %v", r.Comparison.Verdict, got)
	}
	if _, judged := got["criterion "+other.Criteria[lost+1].Name]; judged || len(r.Comparison.Differences) != 1 {
		t.Errorf("another limit was judged: %v, %+v", got, r.Comparison.Differences)
	}
}

// Runs that did something else are not judged, and every difference is named.
func TestUnlikeRunsAreNotJudged(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*Report){
		"server":             func(r *Report) { r.Parameters["server"] = "http://other" },
		"rate":               func(r *Report) { r.Parameters["rate"] = "50" },
		"seconds":            func(r *Report) { r.Parameters["seconds"] = 20 },
		"mode":               func(r *Report) { r.Parameters["mode"] = "batch" },
		"users":              func(r *Report) { delete(r.Parameters, "users") },
		"batch":              func(r *Report) { r.Parameters["batch"] = 7 },
		"criteria":           func(r *Report) { r.Profile = "B" },
		"generators":         func(r *Report) { r.Shards = "1 of 2" },
		"ended early":        func(r *Report) { r.Cut = true },
		"seconds of traffic": func(r *Report) { r.Seconds = 8 },
	} {
		r, other := twice(t)
		change(r)
		r.Measured["api.p95"] *= 10
		r.Against(other, nil)
		c := r.Comparison
		if c.Verdict != Incomparable || !c.Failed() || len(c.Mismatches) != 1 || c.Mismatches[0].Field != field ||
			c.Summary() != "incomparable: the runs differ in "+field+"; nothing was compared" {
			t.Errorf("%s: got %s, %+v", field, c.Summary(), c.Mismatches)
		}
		for name, result := range results(c) {
			if result != "" {
				t.Errorf("%s: %s was judged: %s", field, name, result)
			}
		}
		var page strings.Builder
		if err := r.HTML(&page); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page.String(), c.Summary()) || strings.Contains(page.String(), "of the other run") {
			t.Errorf("%s: the page compares unlike runs", field)
		}
	}
	r, other := twice(t)
	r.Parameters["seed"], r.Machine.Commit, r.Machine.CPU = 5, "def", "a faster processor"
	r.Against(other, nil)
	if c := r.Comparison; c.Verdict != Unchanged || len(c.Differences) != 3 {
		t.Errorf("got %s, %+v", c.Summary(), c.Differences)
	}
}

func TestThresholdsAreParsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Threshold{
		"p95=10%":             {"p95", 10, true},
		"api.p99=1.5s":        {"api.p99", 1500, false},
		"rate=20":             {"rate", 20, false},
		"increments.rate=0%":  {"increments.rate", 0, true},
		"errors=0.5%":         {"errors", 0.5, false},
		"client.p99.9=250ms":  {"client.p99.9", 250, false},
		"freshness.redis.p50": {},
		"p95":                 {}, "p95=": {}, "p95=10": {}, "p95=-1%": {}, "p95=NaN%": {}, "p95=Inf%": {}, "=10%": {},
		"p97=10%": {}, "5=10%": {}, "service.p95=10%": {}, "errors=5": {}, "rate=5ms": {},
		"rate=+Inf": {}, ".p95=10%": {},
	} {
		got, err := ParseThreshold(text)
		if got != want && err == nil || (err == nil) != (want.Name != "") {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
}

// The three forms of a comparison agree.
func TestFormsOfAComparison(t *testing.T) {
	t.Parallel()
	r, other := twice(t)
	r.Measured["api.p95"], other.Measured["api.p95"] = 200, 100
	r.Measured["reads.p50"], other.Measured["reads.p50"] = 5, 10
	r.Against(other, nil)
	var encoded, page bytes.Buffer
	if err := r.JSON(&encoded); err != nil {
		t.Fatal(err)
	}
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	var back struct{ Comparison Comparison }
	if err := json.Unmarshal(encoded.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(results(&back.Comparison), results(r.Comparison)) || back.Comparison.Verdict != Regressed {
		t.Errorf("the JSON has %v", results(&back.Comparison))
	}
	for _, row := range r.Comparison.Rows() {
		if row.Name != "api.p95" && row.Name != "reads.p50" {
			continue
		}
		for _, cell := range []string{row.This, row.Other, resultMarks[row.Result] + " " + row.Result} {
			if !strings.Contains(page.String(), ">"+cell+"<") {
				t.Errorf("the page has no cell %q for %s", cell, row.Name)
			}
		}
	}
	for _, want := range []string{"of the other run", "✗ +100% against the other run"} {
		if !strings.Contains(strings.ReplaceAll(page.String(), "&#43;", "+"), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// A record of a build without version information says so.
func TestBuildIsNeverEmpty(t *testing.T) {
	t.Parallel()
	r, err := NewBuilder(record.Header{}).Report()
	if err != nil {
		t.Fatal(err)
	}
	if r.Machine.Version != unknownBuild || r.Machine.Commit != unknownBuild {
		t.Errorf("got the version %q and the commit %q", r.Machine.Version, r.Machine.Commit)
	}
}
