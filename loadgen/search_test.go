package loadgen

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/instance"
	"github.com/scoreboard/scoreboard/loadgen/criteria"
	"github.com/scoreboard/scoreboard/loadgen/plan"
)

func TestBisection(t *testing.T) {
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
		"starts too high": {
			10_000, func(rate, _ int) bool { return rate <= 900 },
			[]int{10000, 5000, 2500, 1250, 625, 937, 781, 859, 898, 917},
			898,
		},
		"nothing sustained": {8, func(int, int) bool { return false }, []int{8, 4, 2, 1}, 0},
		"one per second":    {4, func(rate, _ int) bool { return rate <= 1 }, []int{4, 2, 1}, 1},
		"maximum": {
			400_000, func(int, int) bool { return true }, []int{400_000, 800_000, 1_000_000}, 1_000_000,
		},
		"busy first try": {
			100, func(rate, try int) bool { return try > 0 && rate <= 300 }, []int{100, 50, 75, 87, 93, 96, 98}, 98,
		},
	} {
		b := &bisection{first: c.first}
		var tries []int
		for rate := b.next(); rate > 0 && len(tries) < maxTries && b.held < plan.MaxRate; rate = b.next() {
			b.note(rate, c.holds(rate, len(tries)))
			tries = append(tries, rate)
		}
		if b.held != c.held || !slices.Equal(tries, c.tries) {
			t.Errorf("%s: got %d by %v, want %d by %v", name, b.held, tries, c.held, c.tries)
		}
	}
}

// The maximum rate of a limited server is found. The server rejects increments by the rate that
// is announced, since a busy machine sends fewer.
func TestFindMax(t *testing.T) {
	t.Parallel()
	const limit = 50
	l := newFaulty(t, &faulty{})
	schedule, err := plan.ParseSchedule("25", time.Second)
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
		switch what, _, _ := strings.Cut(c.Name, "."); what {
		case "behind", "drained", "freshness", "api":
			scenario.Criteria[i].Limit = 60_000 // for a busy machine
		}
	}
	var messages []string
	o := Options{
		Server: Server{
			URL: l.URL, Token: instance.Token("load", "score:update score:admin"),
			KeyID: instance.KeyID, KeySecret: instance.Secret,
		},
		Plan:     plan.Plan{Schedule: schedule, Users: 10, Seed: 1, Prefix: "m-", Mode: plan.Sync, Connections: 4},
		Scenario: scenario, Out: t.TempDir(), Settle: time.Second,
		Say: func(format string, args ...any) {
			messages = append(messages, fmt.Sprintf(format, args...))
			var rate int
			if _, err := fmt.Sscanf(messages[len(messages)-1], "trying %d increments", &rate); err == nil {
				l.overload.Store(rate > limit)
			}
		},
	}
	m, err := FindMax(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	last := m.Tries[len(m.Tries)-1]
	if m.Rate < limit-2 || m.Rate > limit || m.Report == nil || last.Rate != m.Rate || last.Missed != "" {
		t.Errorf("got %+v", m)
	}
	failedAbove := func(t Try) bool { return t.Missed != "" && t.Rate > m.Rate }
	if !slices.ContainsFunc(m.Tries, failedAbove) || len(messages) < len(m.Tries) {
		t.Errorf("no rate failed above %d: %+v", m.Rate, m.Tries)
	}
}
