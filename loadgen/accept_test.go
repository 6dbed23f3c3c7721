package loadgen

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/instance"
	"github.com/scoreboard/scoreboard/loadgen/criteria"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// maxFreshness is the limit of these tests on freshness, in milliseconds.
const maxFreshness = 4500

// accept checks a server against profile A, scaled down to a few seconds.
func accept(t *testing.T, url string, rate int, length time.Duration, change func(*Options)) *Report {
	t.Helper()
	return acceptProfile(t, "A", url, rate, length, 40, change)
}

func acceptProfile(
	t *testing.T, profile, url string, rate int, length time.Duration, users int, change func(*Options),
) *Report {
	t.Helper()
	scenario, err := criteria.Read(criteria.Profiles(), profile)
	if err != nil {
		t.Fatal(err)
	}
	scenario.Scale(rate, length, users)
	scenario.Load.Watchers = 2
	// Many tests share a slow machine, so criteria of speed are relaxed.
	limits := map[string]float64{
		"api.p95": 60_000, "freshness.client.p95": maxFreshness, "freshness.redis.p95": 20_000,
		"increments.rate": 1, "behind": 100, "reads.rate": 1, "reads.p95": 60_000, "reads.p99": 60_000,
		"api.p99": 60_000, "redis.p95": 60_000,
		"freshness.client.p99": 2 * maxFreshness, "freshness.client.max": 2 * maxFreshness,
	}
	for i, c := range scenario.Criteria {
		if limit, ok := limits[c.Name]; ok {
			scenario.Criteria[i].Limit = limit
		}
	}
	schedule, err := plan.ParseSchedule(strconv.Itoa(rate), length)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Server: Server{
			URL: url, Token: instance.Token("load", "score:update score:admin"),
			KeyID: instance.KeyID, KeySecret: instance.Secret,
		},
		Plan: plan.Plan{
			Schedule: schedule, Users: users, Seed: 1, Prefix: "t-", Mode: plan.Sync, Reads: 0.1, Repeats: 0.1,
			Connections: plan.DefaultConnections, Dialect: scenario.Load.Dialect,
		},
		Scenario: scenario, Ops: url, Out: t.TempDir(), Settle: time.Second, Say: func(string, ...any) {},
	}
	if change != nil {
		change(&o)
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func missed(r *Report) []string {
	var names []string
	for _, c := range r.Criteria {
		if !c.Pass {
			names = append(names, c.Name)
		}
	}
	return names
}

// The second server delays frames as the one with stale frames does, but hardly.
func TestCorrectServerIsAccepted(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*faulty{"correct": {}, "hardly late": {stale: time.Nanosecond}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := accept(t, newFaulty(t, l).URL, 100, 3*time.Second, nil)
			if r.Verdict != report.Scaled || len(missed(r)) > 0 {
				t.Errorf("got %s, missed %v, errors %v, notes %v, measured %v",
					r.Verdict, missed(r), r.Errors, r.Notes, r.Measured)
			}
			if n := r.Freshness["redis"].N; n < 8 || r.Freshness["client"].N < 16 {
				t.Errorf("got %d and %d samples of freshness", n, r.Freshness["client"].N)
			}
			kinds := map[string]int{}
			for _, seen := range l.backend.Seen() {
				if strings.HasPrefix(seen.Path, "/v1/realtime/leaderboard") {
					kinds[instance.KindOf(seen)]++
				}
			}
			if kinds["ws"] != 1 || kinds["sse"] != 1 {
				t.Errorf("got the streams %v, want one of each kind", kinds)
			}
		})
	}
}

// Each fault must fail the criteria in must; those in may can fail too, and all
// others must pass.
func TestFaultyServersFailTheRightCriteria(t *testing.T) {
	t.Parallel()
	once := func(p *plan.Plan) { p.Repeats = 0 } // a repeat would compensate for the loss
	slots := make(chan struct{}, 3)              // concurrent runs, so that they do not slow each other down
	lossy := []string{"audit.found", "acks.recorded", "top.correct", "me.correct"}
	for name, c := range map[string]struct {
		server *faulty
		plan   func(*plan.Plan)
		rate   int // 100 by default; 400 gives more events than the sample has
		must   []string
		may    []string
	}{
		"loses every thousandth": {
			server: &faulty{lose: 1000, before: 900}, plan: once, must: []string{"lost"}, may: lossy,
		},
		"loses every tenth": {server: &faulty{lose: 10}, plan: once, rate: 400, must: []string{"lost"}, may: lossy},
		"counts every 500th twice": {
			server: &faulty{double: 500, before: 400}, must: []string{"doubled"},
			may: []string{"top.correct", "me.correct"},
		},
		"counts repeats": {
			server: &faulty{replay: true}, must: []string{"doubled", "replays.rejected"},
			may: []string{"top.correct", "me.correct", "errors"},
		},
		"answers before it stores": {
			server: &faulty{early: 300 * time.Millisecond}, plan: once, must: []string{"acks.recorded"},
		},
		"pushes stale frames": {server: &faulty{stale: 6 * time.Second}, must: []string{"freshness.client.p95"}},
		"stale WebSocket": {
			server: &faulty{stale: 6 * time.Second, staleBy: "ws"}, must: []string{"freshness.client.p95"},
		},
		"stale event stream": {
			server: &faulty{stale: 6 * time.Second, staleBy: "sse"}, must: []string{"freshness.client.p95"},
		},
		"ignores signatures": {
			server: &faulty{forged: true}, plan: func(p *plan.Plan) { p.Forged = 0.05 },
			must: []string{"signatures.rejected"}, may: []string{"errors"},
		},
		"wrong ranks in the top": {
			server: &faulty{change: onlyOn("/v1/leaderboard/top", `"rank":2,`, `"rank":3,`)},
			must:   []string{"top.correct"},
		},
		"wrong rank of a player": {
			server: &faulty{change: onlyOn("/v1/leaderboard/me", `"rank":(\d+)`, `"rank":${1}00`)},
			must:   []string{"me.correct"},
		},
		"no audit trail": {
			server: &faulty{change: onlyOn("/v1/events/", `"previous_score":\d+`, `"previous_score":null`)},
			must:   []string{"audit.found"},
		},
		"records rejected events": {
			server: &faulty{keeps: true}, plan: func(p *plan.Plan) { p.Forged = 0.05 },
			must: []string{"rejected.recorded"}, may: []string{"doubled", "top.correct", "me.correct"},
		},
		"accepts another delta": {server: &faulty{lax: true}, must: []string{"conflicts.rejected"}},
		"has no limits":         {server: &faulty{free: true}, must: []string{"limits.enforced"}},
		"has a metric that stands still": {
			server: &faulty{change: onlyOn("/metrics", `scoreboard_projection_lag_seconds_count \d+`,
				"scoreboard_projection_lag_seconds_count 5")},
			must: []string{"metrics.found"},
		},
		"has a metric without buckets": {
			server: &faulty{change: onlyOn("/metrics", `scoreboard_api_request_seconds_bucket`, "other_bucket")},
			must:   []string{"metrics.found"},
		},
		"hides a metric": {
			server: &faulty{change: onlyOn("/metrics", "# TYPE scoreboard_outbox_lag_seconds ", "# TYPE other ")},
			must:   []string{"metrics.found"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			r := accept(t, newFaulty(t, c.server).URL, cmp.Or(c.rate, 100), 3*time.Second, func(o *Options) {
				if c.plan != nil {
					c.plan(&o.Plan)
				}
			})
			got := missed(r)
			for _, want := range c.must {
				if !slices.Contains(got, want) {
					t.Errorf("%s was met: measured %v, errors %v", want, r.Measured[want], r.Errors)
				}
			}
			for _, name := range got {
				if !slices.Contains(c.must, name) && !slices.Contains(c.may, name) {
					t.Errorf("%s was missed: measured %v, errors %v, notes %v",
						name, r.Measured[name], r.Errors, r.Notes)
				}
			}
			if got, want := r.Measured["lost"], float64(c.server.dropped.Load()); got != want {
				t.Errorf("got %v lost, want %v", got, want)
			}
			if r.Verdict != report.Failed {
				t.Errorf("got %s", r.Verdict)
			}
		})
	}
}

// With few connections, a stalled server answers few requests slowly, but all
// requests that were scheduled during the stall are late.
//
// Not parallel, because it measures time.
func TestStallShowsInLatencyFromScheduledTime(t *testing.T) {
	l := newFaulty(t, &faulty{})
	var start time.Time
	l.stall = func(time.Duration) time.Duration {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.seen.Load() == 0 {
			start = time.Now()
		}
		if since := time.Since(start); since > 2*time.Second && since < 3*time.Second {
			return 3*time.Second - since
		}
		return 0
	}
	r := accept(t, l.URL, 60, 10*time.Second, func(o *Options) {
		o.Plan.Connections = 4
		for _, name := range []string{"api.p99", "api.service.p99"} {
			c, err := criteria.Parse(name+" <= 600ms", "this test")
			if err != nil {
				t.Fatal(err)
			}
			o.Scenario.Criteria = append(o.Scenario.Criteria, c)
		}
	})
	if r.Latency.P99 < 700 || r.Service.P99 > 600 {
		t.Errorf(
			"got p99 %v ms from the scheduled time and %v ms of service; want the stall in the first only",
			r.Latency.P99, r.Service.P99,
		)
	}
	if !slices.Contains(missed(r), "api.p99") || slices.Contains(missed(r), "api.service.p99") {
		t.Errorf("missed %v with api.p99 %v ms", missed(r), r.Measured["api.p99"])
	}
}

// An aborted comparison keeps the report and fails its criteria.
func TestAbortedComparisonFails(t *testing.T) {
	t.Parallel()
	r := accept(t, newFaulty(t, &faulty{mute: true}).URL, 50, 2*time.Second, nil)
	for _, name := range []string{"lost", "doubled", "audit.found", "top.correct", "me.correct", "metrics.found"} {
		if _, ok := r.Measured[name]; ok || !slices.Contains(missed(r), name) {
			t.Errorf("%s was measured: %v", name, r.Measured[name])
		}
	}
	notes := strings.Join(r.Notes, "; ")
	if r.Verdict != report.Failed || r.Cut ||
		!strings.Contains(notes, "the comparison was aborted: read the scores: ") {
		t.Errorf("got %s, cut %v, notes %v", r.Verdict, r.Cut, r.Notes)
	}
}

// With different clocks, a negative freshness is unknown, not zero.
func TestNegativeFreshnessIsNotASample(t *testing.T) {
	t.Parallel()
	r := &run{}
	r.sample("client", time.Now(), -time.Millisecond)
	r.sample("client", time.Now(), time.Millisecond)
	if len(r.samples) != 1 || r.early != 1 {
		t.Errorf("got %d samples, %d before their commit", len(r.samples), r.early)
	}
}
