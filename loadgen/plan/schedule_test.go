package plan

import (
	"strings"
	"testing"
	"time"
)

func TestParseSchedule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		rest   time.Duration
		total  uint64
		length time.Duration
		times  map[uint64]time.Duration
		rates  map[time.Duration]float64
	}{
		{
			"3", 10 * time.Second, 30, 10 * time.Second,
			map[uint64]time.Duration{0: 0, 1: 333333333, 3: time.Second, 30: 10 * time.Second},
			map[time.Duration]float64{0: 3, 9 * time.Second: 3, 10 * time.Second: 0},
		},
		// A ramp: the second half has more requests than the first.
		{
			"100..300/10s", 0, 2000, 10 * time.Second,
			map[uint64]time.Duration{0: 0, 110: time.Second, 750: 5 * time.Second, 2000: 10 * time.Second},
			map[time.Duration]float64{0: 100, 5 * time.Second: 200},
		},
		{
			"300..100/10s", 0, 2000, 10 * time.Second,
			map[uint64]time.Duration{290: time.Second, 1250: 5 * time.Second},
			nil,
		},
		{
			"10/1s, 1000/2s ,10", 4 * time.Second, 2050, 7 * time.Second,
			map[uint64]time.Duration{
				5: 500 * time.Millisecond, 10: time.Second, 1010: 2 * time.Second, 2020: 4 * time.Second,
			},
			map[time.Duration]float64{0: 10, 2 * time.Second: 1000, 5 * time.Second: 10},
		},
	} {
		p, err := ParseSchedule(c.text, c.rest)
		if err != nil {
			t.Fatal(err)
		}
		if p.Total() != c.total || p.Duration() != c.length {
			t.Errorf("%s: got %d in %v, want %d in %v", c.text, p.Total(), p.Duration(), c.total, c.length)
		}
		for n, want := range c.times {
			if got := p.At(n); (got - want).Abs() > time.Microsecond {
				t.Errorf("%s: At(%d): got %v, want %v", c.text, n, got, want)
			}
		}
		for at, want := range c.rates {
			if got := p.Rate(at); got != want {
				t.Errorf("%s: rate at %v: got %v, want %v", c.text, at, got, want)
			}
		}
		for n := range p.Total() { // At and Count are inverse to each other
			if got := p.Count(p.At(n) + time.Microsecond); got != n && got != n+1 {
				t.Fatalf("%s: just after the time of %d, the count was %d", c.text, n, got)
			}
			if n > 0 && p.At(n) < p.At(n-1) {
				t.Fatalf("%s: %d is scheduled before its predecessor", c.text, n)
			}
		}
		if got := p.Count(time.Hour); got != c.total {
			t.Errorf("%s: count after the end: got %d, want %d", c.text, got, c.total)
		}
	}
}

func TestScaleMultipliesTheRates(t *testing.T) {
	t.Parallel()
	p, err := ParseSchedule("100..300/10s", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Scale(1.5); got.Total() != 3000 || got.Duration() != p.Duration() || got.Mean() != 300 {
		t.Errorf("got %d in %v, mean %v", got.Total(), got.Duration(), got.Mean())
	}
}

func TestInvalidSchedulesAreRejected(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "must be between 1", "-3": "must be between 1", "1.5": "must be between 1", "": "must be between 1",
		"2000000": "must be between 1",
		"10..":    "must be between 1", "..5": "must be between 1", "10/": "not a duration", "10/60": "not a duration",
		"10/0s": "greater than 0",
		"10,20": "needs a duration", "1000000/1000h": "a run has",
	} {
		if _, err := ParseSchedule(text, time.Second); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if _, err := ParseSchedule("10", 0); err == nil {
		t.Error("without a duration: got no error")
	}
}
