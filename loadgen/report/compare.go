package report

import (
	"fmt"
	"io"
	"strings"
)

// pair is a value of two runs.
type pair struct {
	Name        string
	This, Other string
	Change      string // from the other to this
}

// compare compares the values of two runs.
func compare(r, other *Report) []pair {
	var pairs []pair
	add := func(name, unit string, a, b float64, measured bool) {
		p := pair{Name: name, This: "–", Other: "–"}
		if measured {
			p.This, p.Other = short(a)+unit, short(b)+unit
			if b != 0 {
				p.Change = fmt.Sprintf("%+.0f%%", 100*(a-b)/b)
			}
		}
		pairs = append(pairs, p)
	}
	add("increments per second", "", r.Rate, other.Rate, true)
	add("reads per second", "", r.ReadsRate, other.ReadsRate, r.ReadsRate > 0 || other.ReadsRate > 0)
	add("errors", "%", r.Measured["errors"], other.Measured["errors"], true)
	add("behind", "%", r.Measured["behind"], other.Measured["behind"], true)
	others := other.rows()
	for i, row := range r.rows() {
		o := others[i].l
		if row.l.N == 0 || o.N == 0 {
			continue
		}
		add(row.name+", p50", " ms", row.l.P50, o.P50, true)
		add(row.name+", p95", " ms", row.l.P95, o.P95, true)
		add(row.name+", p99", " ms", row.l.P99, o.P99, true)
		add(row.name+", p99.99", " ms", row.l.P9999, o.P9999, true)
	}
	for _, c := range r.Criteria {
		for _, o := range other.Criteria {
			if c.Name == o.Name && c.Limit == o.Limit {
				pairs = append(pairs, pair{
					Name: c.Name + " " + c.Limit, This: c.shown + " " + c.verdict(), Other: o.shown + " " + o.verdict(),
				})
			}
		}
	}
	return pairs
}

func short(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// differences are the parameters in which two runs differ, which a reader of the
// comparison must know.
func differences(r, other *Report) []pair {
	var pairs []pair
	mine, theirs := parameterLines(r.Parameters), parameterLines(other.Parameters)
	mine = append(mine, "commit: "+r.Machine.Commit, "machine: "+r.Machine.Host+", "+r.Machine.CPU)
	theirs = append(theirs, "commit: "+other.Machine.Commit, "machine: "+other.Machine.Host+", "+other.Machine.CPU)
	values := map[string]string{}
	for _, line := range theirs {
		name, value, _ := strings.Cut(line, ": ")
		values[name] = value
	}
	for _, line := range mine {
		name, value, _ := strings.Cut(line, ": ")
		if values[name] != value {
			pairs = append(pairs, pair{Name: name, This: value, Other: values[name]})
		}
		delete(values, name)
	}
	for _, line := range theirs { // parameters of the other run alone
		name, value, _ := strings.Cut(line, ": ")
		if _, ok := values[name]; ok {
			pairs = append(pairs, pair{Name: name, Other: value})
		}
	}
	return pairs
}

// Compare writes a comparison of two runs as text.
func (r *Report) Compare(w io.Writer, other *Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-40s %20s %20s %8s\n", "", "this", "other", "change")
	for _, p := range append(differences(r, other), compare(r, other)...) {
		fmt.Fprintf(&b, "%-40s %20s %20s %8s\n", p.Name, p.This, p.Other, p.Change)
	}
	fmt.Fprintf(&b, "this: %s\nother: %s\n", r.headline(), other.headline())
	_, err := io.WriteString(w, b.String())
	return err
}
