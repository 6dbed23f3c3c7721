package pace

import (
	"strings"
	"testing"
	"time"
)

func TestPaceIsATable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		rest  time.Duration
		total uint64
		lasts time.Duration
		due   map[uint64]time.Duration
		rates map[time.Duration]float64
	}{
		{
			"3", 10 * time.Second, 30, 10 * time.Second,
			map[uint64]time.Duration{0: 0, 1: 333333333, 3: time.Second, 30: 10 * time.Second},
			map[time.Duration]float64{0: 3, 9 * time.Second: 3, 10 * time.Second: 0},
		},
		// The tenth second of a ramp from 0-ish has nearly double the mean.
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
			map[uint64]time.Duration{5: 500 * time.Millisecond, 10: time.Second, 1010: 2 * time.Second, 2020: 4 * time.Second},
			map[time.Duration]float64{0: 10, 2 * time.Second: 1000, 5 * time.Second: 10},
		},
	} {
		p, err := Parse(c.text, c.rest)
		if err != nil {
			t.Fatal(err)
		}
		if p.Total() != c.total || p.Duration() != c.lasts {
			t.Errorf("%s: got %d in %v, want %d in %v", c.text, p.Total(), p.Duration(), c.total, c.lasts)
		}
		for n, want := range c.due {
			if got := p.Due(n); (got - want).Abs() > time.Microsecond {
				t.Errorf("%s: due(%d): got %v, want %v", c.text, n, got, want)
			}
		}
		for at, want := range c.rates {
			if got := p.Rate(at); got != want {
				t.Errorf("%s: rate at %v: got %v, want %v", c.text, at, got, want)
			}
		}
		for n := range p.Total() { // due and expected are each other's inverse
			if got := p.Expected(p.Due(n) + time.Microsecond); got != n && got != n+1 {
				t.Fatalf("%s: just after %d was due, %d were expected", c.text, n, got)
			}
			if n > 0 && p.Due(n) < p.Due(n-1) {
				t.Fatalf("%s: %d is due before the one before it", c.text, n)
			}
		}
		if got := p.Expected(time.Hour); got != c.total {
			t.Errorf("%s: expected after the end: got %d, want %d", c.text, got, c.total)
		}
	}
}

func TestTimesMultipliesTheRates(t *testing.T) {
	t.Parallel()
	p, err := Parse("100..300/10s", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Times(1.5); got.Total() != 3000 || got.Duration() != p.Duration() || got.Mean() != 300 {
		t.Errorf("got %d in %v, mean %v", got.Total(), got.Duration(), got.Mean())
	}
}

func TestBadPacesAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "must be 1", "-3": "must be 1", "1.5": "must be 1", "": "must be 1", "2000000": "must be 1",
		"10..": "must be 1", "..5": "must be 1", "10/": "no duration", "10/60": "no duration", "10/0s": "longer than nothing",
		"10,20": "how long it lasts", "1000000/1000h": "and a run has",
	} {
		if _, err := Parse(text, time.Second); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if _, err := Parse("10", 0); err == nil {
		t.Error("no duration at all: got no error")
	}
}
