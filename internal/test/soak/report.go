package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// report is the result of a run.
type report struct {
	Began      time.Time      `json:"began"`
	Seconds    float64        `json:"seconds"`
	Rate       int            `json:"rate"`
	Players    int            `json:"players"`
	Increments int64          `json:"increments"` // answered
	Frames     int64          `json:"frames"`     // seen by viewers
	Done       map[string]int `json:"done"`       // how often operators did what
	Checks     []check        `json:"checks"`
	Passed     bool           `json:"passed"`
	Samples    []sample       `json:"samples"`

	mu sync.Mutex
}

// check is one requirement.
type check struct {
	Name   string `json:"name"`
	Result string `json:"result"`
	Passed bool   `json:"passed"`
}

// sample is a sample.
type sample struct {
	At     float64   `json:"at"` // seconds since the start
	Values []float64 `json:"values"`
}

func newReport(o options) *report {
	return &report{
		Began: time.Now().UTC().Truncate(time.Second), Rate: o.rate, Players: o.players,
		Done: make(map[string]int), Passed: true,
	}
}

func (r *report) did(what string) { r.Done[what]++ }

func (r *report) add(at time.Duration, values []float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Samples = append(r.Samples, sample{at.Seconds(), values})
}

func (r *report) require(ok bool, name, format string, args ...any) {
	r.Checks = append(r.Checks, check{name, fmt.Sprintf(format, args...), ok})
	r.Passed = r.Passed && ok
}

// fewSamples are too few to tell growth from noise.
const fewSamples = 30

// judge checks that no series with a bound has grown.
func (r *report) judge() {
	settled := slices.Clone(r.Samples)
	settled = slices.DeleteFunc(settled, func(m sample) bool { return m.At < r.Seconds/3 })
	if len(settled) < fewSamples {
		r.require(true, "growth", "not judged: %d samples after the first third, %d are required",
			len(settled), fewSamples)
		return
	}
	for i, s := range series {
		if s.growth == 0 {
			continue
		}
		mean, grown := trend(settled, i)
		allowed := max(s.growth*mean, s.floor)
		r.require(grown <= allowed, s.name, "%+.1f %s after the first third, mean %.1f; at most %+.1f",
			grown, s.unit, mean, allowed)
	}
}

// trend returns the mean of a series, and by how much its regression line rises over all samples.
func trend(samples []sample, i int) (mean, grown float64) {
	n := float64(len(samples))
	var at float64
	for _, m := range samples {
		mean += m.Values[i] / n
		at += m.At / n
	}
	var both, square float64
	for _, m := range samples {
		both += (m.At - at) * (m.Values[i] - mean)
		square += (m.At - at) * (m.At - at)
	}
	return mean, both / math.Max(square, 1) * (samples[len(samples)-1].At - samples[0].At)
}

// write writes report.json and report.md, and prints the checks.
func (r *report) write(dir string) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	text := r.markdown()
	fmt.Print(text)
	return errors.Join(os.MkdirAll(dir, 0o750),
		os.WriteFile(filepath.Join(dir, "report.json"), append(b, '\n'), 0o600),
		os.WriteFile(filepath.Join(dir, "report.md"), []byte(text), 0o600))
}

func (r *report) markdown() string {
	var b strings.Builder
	verdict := map[bool]string{true: "passed", false: "FAILED"}
	fmt.Fprintf(&b, "# Soak of %s: %s\n\n", time.Duration(r.Seconds)*time.Second, verdict[r.Passed])
	fmt.Fprintf(&b, "Began %s. %d increments at %d/s by %d players, %d frames seen.\n\n", r.Began.Format(time.RFC3339),
		r.Increments, r.Rate, r.Players, r.Frames)
	b.WriteString("| check | result | |\n|---|---|---|\n")
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.Name, c.Result, verdict[c.Passed])
	}
	b.WriteString("\n| series | first third | second | last |\n|---|---|---|---|\n")
	for i, s := range series {
		fmt.Fprintf(&b, "| %s %s |", s.name, s.unit)
		for third := range 3 {
			var of []sample
			for _, m := range r.Samples {
				if min(int(3*m.At/math.Max(r.Seconds, 1)), 2) == third {
					of = append(of, m)
				}
			}
			if len(of) == 0 {
				b.WriteString(" |")
				continue
			}
			mean, _ := trend(of, i)
			fmt.Fprintf(&b, " %.1f |", mean)
		}
		b.WriteString("\n")
	}
	return b.String()
}
