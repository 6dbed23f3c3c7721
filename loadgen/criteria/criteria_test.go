package criteria

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestEvaluate(t *testing.T) {
	t.Parallel()
	m := map[string]float64{
		"increments.rate": 10000, "api.p95": 200, "errors": 0.99, "lost": 0,
		"replays.rejected": 100, "duration": 900_000, "reads.p99.9": 12.3456,
	}
	for _, c := range []struct {
		text, limit string
		pass        bool
	}{
		{"increments.rate >= 10000", ">= 10000", true},
		{"increments.rate > 10000", "> 10000", false},
		{"increments.rate >= 10000.1", ">= 10000.1", false},
		{"api.p95 <= 200ms", "<= 200ms", true},
		{"api.p95 < 200ms", "< 200ms", false},
		{"api.p95<=0.2s", "<= 200ms", true},
		{"p(95)<200ms", "< 200ms", false},
		{"p(95)<=200ms", "<= 200ms", true},
		{"errors < 1%", "< 1%", true},
		{"errors < 0.5 %", "< 0.5%", false},
		{"lost == 0", "== 0", true},
		{"lost == 1", "== 1", false},
		{"replays.rejected == 100%", "== 100%", true},
		{"duration >= 15m", ">= 15m0s", true},
		{"reads.p99.9 <= 12.3ms", "<= 12.3ms", false},
		{"freshness.client.p95 <= 1s", "<= 1000ms", false}, // not measured
	} {
		got, err := Parse(c.text, "the test")
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		value, pass := got.Evaluate(m)
		if pass != c.pass || got.LimitText() != c.limit || got.Source != "the test" {
			t.Errorf("%s: got %v with limit %q, want %v with %q", c.text, pass, got.LimitText(), c.pass, c.limit)
		}
		if again, err := Parse(got.String(), "the test"); err != nil || again != got {
			t.Errorf("%s: formatted as %q and parsed as %+v, %v", c.text, got, again, err)
		}
		if _, ok := m[got.Name]; ok != (value != nil) {
			t.Errorf("%s: got the value %v", c.text, value)
		}
	}
}

func TestInvalidCriteriaAreRejected(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "want NAME",
		"api.p95":                 "want NAME",
		"api.p95 => 200ms":        "want NAME",
		"api.p95 <= fast":         "want NAME",
		"api.p97 <= 200ms":        `unknown quantity "api.p97"`,
		"p(97)<200ms":             `unknown quantity "api.p97"`,
		"apl.p95 <= 200ms":        `unknown quantity "apl.p95"`,
		"api.p95 <= 200":          "needs a unit, as in 200ms",
		"api.p95 <= 200%":         "needs a unit",
		"api.p95 <= 200parsecs":   "not a number",
		"errors < 1":              "needs a unit, as in 1%",
		"errors < 1ms":            "needs a unit",
		"lost == 0%":              "must not have a unit",
		"lost == 0.0.1":           "not a number",
		"increments.rate >= 10/s": "must not have a unit",
	} {
		if _, err := Parse(text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestShippedScenariosAreValid(t *testing.T) {
	t.Parallel()
	names := Names(Profiles())
	if strings.Join(names, " ") != "A B C D E full" {
		t.Errorf("got %v", names)
	}
	all := map[string]*Scenario{}
	for _, name := range names {
		s, err := Read(Profiles(), name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Title == "" || s.Load.Rate < 1 || s.Load.Duration < time.Minute || s.Load.Users < 1 ||
			s.Load.Watchers < 1 ||
			s.Scaled {
			t.Errorf("%s: got %+v", name, s)
		}
		all[name] = s
	}
	got, want := len(all["full"].Criteria), 0
	for _, name := range []string{"A", "B", "C"} {
		want += len(all[name].Criteria)
	}
	if got != want {
		t.Errorf("full: got %d criteria, want %d", got, want)
	}
}

func TestInvalidScenariosAreRejected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"unknown criterion": {"criteria: [{check: lots == 1, source: me}]", `unknown quantity "lots"`},
		"no source":         {"criteria: [{check: lost == 0}]", "has no source"},
		"unknown field":     {"load: {rat: 5}\ncriteria: [{check: lost == 0, source: me}]", "rat"},
		"no criteria":       {"title: none", "no criteria"},
		"missing include":   {"include: [there]", `unknown criteria "there"; must be one of x`},
	} {
		_, err := Read(fstest.MapFS{"x.yaml": {Data: []byte(c.text)}}, "x")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestScale(t *testing.T) {
	t.Parallel()
	text := "load: {rate: 1050, duration: 10m, users: 100, reads: 2}\ncriteria:\n" +
		"- {check: increments.rate >= 1000, source: me}\n- {check: reads.rate >= 2000, source: me}\n" +
		"- {check: duration >= 10m, source: me}\n- {check: api.p95 <= 200ms, source: me}\n"
	for name, c := range map[string]struct {
		rate, users int
		length      time.Duration
		limits      string
		scaled      bool
	}{
		"unchanged":          {0, 0, 0, ">= 1000 >= 2000 >= 10m0s <= 200ms", false},
		"at the limit":       {1000, 100, 10 * time.Minute, ">= 1000 >= 2000 >= 10m0s <= 200ms", false},
		"a tenth":            {105, 0, time.Minute, ">= 100 >= 200 >= 1m0s <= 200ms", true},
		"more of everything": {5000, 200, time.Hour, ">= 1000 >= 2000 >= 10m0s <= 200ms", false},
		"fewer users":        {0, 99, 0, ">= 1000 >= 2000 >= 10m0s <= 200ms", true},
		"shorter than limit": {0, 0, 30 * time.Second, ">= 1000 >= 2000 >= 30s <= 200ms", true},
	} {
		s, err := Read(fstest.MapFS{"x.yaml": {Data: []byte(text)}}, "x")
		if err != nil {
			t.Fatal(err)
		}
		s.Scale(c.rate, c.length, c.users)
		var limits []string
		for _, criterion := range s.Criteria {
			limits = append(limits, criterion.LimitText())
		}
		if got := strings.Join(limits, " "); got != c.limits || s.Scaled != c.scaled {
			t.Errorf("%s: got %q, scaled %v; want %q, %v", name, got, s.Scaled, c.limits, c.scaled)
		}
	}
}

// Each specification's load goes through its own API.
func TestDialectsOfProfiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"A": "", "B": "highscore", "C": "delta", "D": "module", "E": "plain", "full": "",
	} {
		s, err := Read(Profiles(), name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Load.Dialect != want {
			t.Errorf("%s: got the dialect %q, want %q", name, s.Load.Dialect, want)
		}
	}
}
