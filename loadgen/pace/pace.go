// Package pace says when what is due: a rate, or stages of rates and ramps. It
// is arithmetic alone and knows no clock.
package pace

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The bounds of a plan. What becomes of every increment is kept, a byte each.
const (
	MaxRate  = 1_000_000
	maxTotal = 200_000_000
)

// Pace is stages of traffic, one after the other.
type Pace struct {
	text   string
	stages []stage
}

// stage goes evenly from one rate a second to another.
type stage struct {
	from, to float64
	lasts    time.Duration
}

// Parse reads a pace: "2000", a ramp "1000..10000/60s", or stages of these
// divided by commas, "1000/10s,5000/2s,1000/10s". The last may leave out how
// long it lasts, which is then what rest says.
func Parse(text string, rest time.Duration) (Pace, error) {
	p := Pace{text: text}
	parts := strings.Split(text, ",")
	for i, part := range parts {
		s, err := parseStage(strings.TrimSpace(part), i == len(parts)-1, rest)
		if err != nil {
			if len(parts) == 1 {
				return Pace{}, err
			}
			return Pace{}, fmt.Errorf("the rate %q: %w", text, err)
		}
		p.stages = append(p.stages, s)
	}
	if n := p.total(); n < 1 || n > maxTotal {
		return Pace{}, fmt.Errorf("the rate %q gives %.0f increments, and a run has 1 to %d", text, n, maxTotal)
	}
	return p, nil
}

func parseStage(text string, last bool, rest time.Duration) (stage, error) {
	rates, length, timed := strings.Cut(text, "/")
	s := stage{lasts: rest}
	var err error
	switch {
	case timed:
		if s.lasts, err = time.ParseDuration(length); err != nil {
			return s, fmt.Errorf("%q is no duration, such as 60s", length)
		}
	case !last:
		return s, fmt.Errorf("%q must say how long it lasts, as in %s/10s", text, text)
	}
	if s.lasts <= 0 {
		return s, fmt.Errorf("the duration must be longer than nothing")
	}
	from, to, ramp := strings.Cut(rates, "..")
	if s.from, err = parseRate(from); err != nil {
		return s, err
	}
	if s.to = s.from; ramp {
		s.to, err = parseRate(to)
	}
	return s, err
}

func parseRate(text string) (float64, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxRate {
		return 0, fmt.Errorf("the rate must be 1 to 1,000,000 a second, not %q", text)
	}
	return float64(n), nil
}

// String is the pace as it was written.
func (p Pace) String() string { return p.text }

// Times returns the pace with every rate multiplied.
func (p Pace) Times(factor float64) Pace {
	out := Pace{text: p.text, stages: make([]stage, len(p.stages))}
	for i, s := range p.stages {
		out.stages[i] = stage{s.from * factor, s.to * factor, s.lasts}
	}
	return out
}

// Duration is how long it takes in all.
func (p Pace) Duration() time.Duration {
	var d time.Duration
	for _, s := range p.stages {
		d += s.lasts
	}
	return d
}

// Mean is the rate over the whole duration.
func (p Pace) Mean() float64 { return p.total() / p.Duration().Seconds() }

// Rate is the rate asked for at a moment.
func (p Pace) Rate(at time.Duration) float64 {
	for _, s := range p.stages {
		if at < s.lasts {
			return s.from + (s.to-s.from)*at.Seconds()/s.lasts.Seconds()
		}
		at -= s.lasts
	}
	return 0
}

// Total is how many fall due.
func (p Pace) Total() uint64 { return whole(p.total()) }

func (p Pace) total() float64 {
	sum := 0.0
	for _, s := range p.stages {
		sum += s.count()
	}
	return sum
}

func (s stage) count() float64 { return (s.from + s.to) / 2 * s.lasts.Seconds() }

// Due is when number n (from 0) is due, from the beginning.
func (p Pace) Due(n uint64) time.Duration {
	left := float64(n)
	var began time.Duration
	for _, s := range p.stages {
		if c := s.count(); left < c {
			return began + s.when(left)
		} else {
			left -= c
		}
		began += s.lasts
	}
	return began
}

// when is at what time of a stage n have fallen due: the root of
// from·t + (to−from)/2L·t² = n, in the form that also holds where both rates
// are one.
func (s stage) when(n float64) time.Duration {
	a := (s.to - s.from) / (2 * s.lasts.Seconds())
	t := 2 * n / (s.from + math.Sqrt(math.Max(s.from*s.from+4*a*n, 0)))
	return time.Duration(math.Round(t * float64(time.Second)))
}

// Expected is how many have fallen due by a moment.
func (p Pace) Expected(at time.Duration) uint64 {
	sum := 0.0
	for _, s := range p.stages {
		t := min(max(at, 0), s.lasts).Seconds()
		sum += s.from*t + (s.to-s.from)/(2*s.lasts.Seconds())*t*t
		at -= s.lasts
	}
	return whole(sum)
}

// whole rounds down, but for what arithmetic lost.
func whole(x float64) uint64 { return uint64(math.Floor(x + 1e-6)) }
