package loadgen

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/clienttest"
	"github.com/scoreboard/scoreboard/loadgen/criteria"
	"github.com/scoreboard/scoreboard/loadgen/pace"
)

func TestBisectionIsATable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first int
		holds func(rate, try int) bool
		tries []int
		held  int
	}{
		"doubles, then halves the gap": {
			1000, func(rate, _ int) bool { return rate <= 11_400 },
			[]int{1000, 2000, 4000, 8000, 16000, 12000, 10000, 11000, 11500, 11200},
			11200,
		},
		"begins too high":  {10_000, func(rate, _ int) bool { return rate <= 900 }, []int{10000, 5000, 2500, 1250, 625, 937, 781, 859, 898, 917}, 898},
		"nothing holds":    {8, func(int, int) bool { return false }, []int{8, 4, 2, 1}, 0},
		"one a second":     {4, func(rate, _ int) bool { return rate <= 1 }, []int{4, 2, 1}, 1},
		"all of it":        {400_000, func(int, int) bool { return true }, []int{400_000, 800_000, 1_000_000}, 1_000_000},
		"a busy first try": {100, func(rate, try int) bool { return try > 0 && rate <= 300 }, []int{100, 50, 75, 87, 93, 96, 98}, 98},
	} {
		b := &bisection{first: c.first}
		var tries []int
		for rate := b.next(); rate > 0 && len(tries) < mostTries && b.held < pace.MaxRate; rate = b.next() {
			b.note(rate, c.holds(rate, len(tries)))
			tries = append(tries, rate)
		}
		if b.held != c.held || !slices.Equal(tries, c.tries) {
			t.Errorf("%s: got %d by %v, want %d by %v", name, b.held, tries, c.held, c.tries)
		}
	}
}

// A server that can do so much and no more is found out.
func TestFindMax(t *testing.T) {
	t.Parallel()
	l := newLiar(t, &liar{})
	gate := make(chan struct{}, 1) // one at a time, 20 ms each: 50 a second, and no more than that on any machine
	l.stall = func(time.Duration) time.Duration {
		gate <- struct{}{}
		time.Sleep(20 * time.Millisecond)
		<-gate
		return 0
	}
	l.loadOnly = true
	p, err := pace.Parse("25", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := criteria.Read(criteria.Profiles(), "A")
	if err != nil {
		t.Fatal(err)
	}
	if err := scenario.UnderLoad(); err != nil {
		t.Fatal(err)
	}
	scenario.Load.Watchers = 1
	for i, c := range scenario.Criteria {
		if c.Name == "behind" {
			scenario.Criteria[i].Limit = 25
		}
		if strings.HasPrefix(c.Name, "freshness.") || c.Name == "drained" || c.Name == "api.p95" {
			scenario.Criteria[i].Limit = 60_000 // of a busy machine
		}
	}
	var said []string
	o := Options{
		Server:   Server{URL: l.URL, Token: clienttest.Token("load", "score:update score:admin"), KeyID: clienttest.KeyID, KeySecret: clienttest.Secret},
		Plan:     Plan{Pace: p, Users: 10, Seed: 1, Prefix: "m-", Mode: Sync, Connections: 4},
		Scenario: scenario, Out: t.TempDir(), Settle: time.Second,
		Say: func(format string, _ ...any) { said = append(said, format) },
	}
	m, err := FindMax(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	last := m.Tries[len(m.Tries)-1]
	if m.Rate < 1 || m.Rate > 85 || m.Report == nil || last.Rate != m.Rate || last.Missed != "" {
		t.Errorf("got %+v", m)
	}
	if !slices.ContainsFunc(m.Tries, func(t Try) bool { return t.Missed != "" && t.Rate > m.Rate }) || len(said) < len(m.Tries) {
		t.Errorf("nothing failed above %d: %+v", m.Rate, m.Tries)
	}
}
