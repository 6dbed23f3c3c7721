package plan

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Limits of a schedule. A run keeps one byte per increment.
const (
	MaxRate  = 1_000_000
	maxTotal = 200_000_000
)

// Schedule is a sequence of stages of traffic.
type Schedule struct {
	text   string
	stages []stage
}

// stage is a linear ramp from one rate per second to another.
type stage struct {
	from, to float64
	length   time.Duration
}

// ParseSchedule parses a rate "2000", a ramp "1000..10000/60s", or a
// comma-separated list of stages "1000/10s,5000/2s,1000/10s". The last stage may
// omit its duration, which then is rest.
func ParseSchedule(text string, rest time.Duration) (Schedule, error) {
	p := Schedule{text: text}
	parts := strings.Split(text, ",")
	for i, part := range parts {
		s, err := parseStage(strings.TrimSpace(part), i == len(parts)-1, rest)
		if err != nil {
			if len(parts) == 1 {
				return Schedule{}, err
			}
			return Schedule{}, fmt.Errorf("rate %q: %w", text, err)
		}
		p.stages = append(p.stages, s)
	}
	if n := p.total(); n < 1 || n > maxTotal {
		return Schedule{}, fmt.Errorf("rate %q gives %.0f increments; a run has 1 to %d", text, n, maxTotal)
	}
	return p, nil
}

func parseStage(text string, last bool, rest time.Duration) (stage, error) {
	rates, length, hasLength := strings.Cut(text, "/")
	s := stage{length: rest}
	var err error
	switch {
	case hasLength:
		if s.length, err = time.ParseDuration(length); err != nil {
			return s, fmt.Errorf("%q is not a duration such as 60s", length)
		}
	case !last:
		return s, fmt.Errorf("%q needs a duration, as in %s/10s", text, text)
	}
	if s.length <= 0 {
		return s, errors.New("the duration must be greater than 0")
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
		return 0, fmt.Errorf("the rate must be between 1 and 1,000,000 per second, not %q", text)
	}
	return float64(n), nil
}

// String returns the text that was parsed.
func (p Schedule) String() string { return p.text }

// Scale returns the schedule with every rate multiplied by factor.
func (p Schedule) Scale(factor float64) Schedule {
	out := Schedule{text: p.text, stages: make([]stage, len(p.stages))}
	for i, s := range p.stages {
		out.stages[i] = stage{s.from * factor, s.to * factor, s.length}
	}
	return out
}

// Duration is the total length of all stages.
func (p Schedule) Duration() time.Duration {
	var d time.Duration
	for _, s := range p.stages {
		d += s.length
	}
	return d
}

// Mean is the rate over the whole duration.
func (p Schedule) Mean() float64 { return p.total() / p.Duration().Seconds() }

// Rate is the target rate at a time since the start.
func (p Schedule) Rate(at time.Duration) float64 {
	for _, s := range p.stages {
		if at < s.length {
			return s.from + (s.to-s.from)*at.Seconds()/s.length.Seconds()
		}
		at -= s.length
	}
	return 0
}

// Total is how many requests are scheduled.
func (p Schedule) Total() uint64 { return whole(p.total()) }

func (p Schedule) total() float64 {
	sum := 0.0
	for _, s := range p.stages {
		sum += s.count()
	}
	return sum
}

func (s stage) count() float64 { return (s.from + s.to) / 2 * s.length.Seconds() }

// At is the scheduled time of request n (from 0) since the start.
func (p Schedule) At(n uint64) time.Duration {
	left := float64(n)
	var start time.Duration
	for _, s := range p.stages {
		c := s.count()
		if left < c {
			return start + s.timeOf(left)
		}
		left -= c
		start += s.length
	}
	return start
}

// timeOf is the time in the stage by which n requests are scheduled: the root of
// from·t + (to−from)/2L·t² = n, in a form that also holds for equal rates.
func (s stage) timeOf(n float64) time.Duration {
	a := (s.to - s.from) / (2 * s.length.Seconds())
	t := 2 * n / (s.from + math.Sqrt(math.Max(s.from*s.from+4*a*n, 0)))
	return time.Duration(math.Round(t * float64(time.Second)))
}

// Count is how many requests are scheduled before a time since the start.
func (p Schedule) Count(at time.Duration) uint64 {
	sum := 0.0
	for _, s := range p.stages {
		t := min(max(at, 0), s.length).Seconds()
		sum += s.from*t + (s.to-s.from)/(2*s.length.Seconds())*t*t
		at -= s.length
	}
	return whole(sum)
}

// whole rounds down, and tolerates rounding errors.
func whole(x float64) uint64 { return uint64(math.Floor(x + 1e-6)) }
