package loadgen

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/clienttest"
	"github.com/scoreboard/scoreboard/loadgen/criteria"
	"github.com/scoreboard/scoreboard/loadgen/pace"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
	"github.com/scoreboard/scoreboard/server/protocol"
)

// slow is the limit of these tests on freshness, in milliseconds.
const slow = 2500

// accept holds a server to profile A, scaled down to a few seconds.
func accept(t *testing.T, url string, rate int, lasts time.Duration, change func(*Options)) *Report {
	t.Helper()
	scenario, err := criteria.Read(criteria.Profiles(), "A")
	if err != nil {
		t.Fatal(err)
	}
	scenario.Scale(rate, lasts, 40)
	scenario.Load.Watchers = 2
	for i, c := range scenario.Criteria { // many tests share a slow machine: what is about its speed is not asked
		if limit, ok := map[string]float64{"api.p95": 60_000, "freshness.client.p95": slow, "freshness.redis.p95": 20_000, "increments.rate": 1, "behind": 100}[c.Name]; ok {
			scenario.Criteria[i].Limit = limit
		}
	}
	p, err := pace.Parse(strconv.Itoa(rate), lasts)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Server: Server{
			URL: url, Token: clienttest.Token("load", "score:update score:admin"), KeyID: clienttest.KeyID, KeySecret: clienttest.Secret,
		},
		Plan: Plan{
			Pace: p, Users: 40, Seed: 1, Prefix: "t-", Mode: Sync, Reads: 0.1, Repeats: 0.1, Connections: DefaultConnections,
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

// So is one whose frames take the way of the stale ones, but no time.
func TestAnHonestServerIsAccepted(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*liar{"honest": {}, "hardly late": {stale: time.Nanosecond}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := accept(t, newLiar(t, l).URL, 100, 3*time.Second, nil)
			if r.Verdict != report.Scaled || len(missed(r)) > 0 {
				t.Errorf("got %s, missed %v, errors %v, notes %v, measured %v", r.Verdict, missed(r), r.Errors, r.Notes, r.Measured)
			}
			if n := r.Freshness["redis"].N; n < 8 || r.Freshness["client"].N < 16 {
				t.Errorf("got %d and %d samples of freshness", n, r.Freshness["client"].N)
			}
			kinds := map[string]int{}
			for _, seen := range l.back.Seen() {
				if strings.HasPrefix(seen.Path, "/v1/realtime/leaderboard") {
					kinds[kindOf(&http.Request{Header: seen.Header})]++
				}
			}
			if kinds["ws"] != 1 || kinds["sse"] != 1 {
				t.Errorf("got the streams %v, want one of each kind", kinds)
			}
		})
	}
}

// Each lie must fail the acceptance, and for the right criterion: those in may
// follow from the lie too, and no other is missed.
func TestLiesAreFoundOut(t *testing.T) {
	t.Parallel()
	once := func(p *Plan) { p.Repeats = 0 } // a repeat would make the loss good
	few := make(chan struct{}, 3)           // at once, so that none waits for the others' work
	lossy := []string{"audit.found", "acks.recorded", "top.correct", "me.correct"}
	for name, c := range map[string]struct {
		liar *liar
		plan func(*Plan)
		rate int // 100 where it is not said; 400 are more than are looked up in any case
		must []string
		may  []string
	}{
		"loses every thousandth":    {liar: &liar{lose: 1000, before: 900}, plan: once, must: []string{"lost"}, may: lossy},
		"loses every tenth":         {liar: &liar{lose: 10}, plan: once, rate: 400, must: []string{"lost"}, may: lossy},
		"counts every 500th twice":  {liar: &liar{double: 500, before: 400}, must: []string{"doubled"}, may: []string{"top.correct", "me.correct"}},
		"counts repeats anew":       {liar: &liar{replay: true}, must: []string{"doubled", "replays.rejected"}, may: []string{"top.correct", "me.correct", "errors"}},
		"answers before it stores":  {liar: &liar{early: 300 * time.Millisecond}, plan: once, must: []string{"acks.recorded"}},
		"pushes stale frames":       {liar: &liar{stale: 4 * time.Second}, must: []string{"freshness.client.p95"}},
		"is stale by WebSocket":     {liar: &liar{stale: 4 * time.Second, staleBy: "ws"}, must: []string{"freshness.client.p95"}},
		"is stale by SSE":           {liar: &liar{stale: 4 * time.Second, staleBy: "sse"}, must: []string{"freshness.client.p95"}},
		"does not check signatures": {liar: &liar{forged: true}, plan: func(p *Plan) { p.Forged = 0.05 }, must: []string{"signatures.rejected"}, may: []string{"errors"}},
		"numbers the top wrongly":   {liar: &liar{change: onlyOn("/v1/leaderboard/top", `"rank":2,`, `"rank":3,`)}, must: []string{"top.correct"}},
		"tells players a wrong rank": {
			liar: &liar{change: onlyOn("/v1/leaderboard/me", `"rank":(\d+)`, `"rank":${1}00`)}, must: []string{"me.correct"},
		},
		"keeps no trail": {liar: &liar{change: onlyOn("/v1/events/", `"previous_score":\d+`, `"previous_score":null`)}, must: []string{"audit.found"}},
		"records what it refuses": {
			liar: &liar{keeps: true}, plan: func(p *Plan) { p.Forged = 0.05 }, must: []string{"refused.recorded"}, may: []string{"doubled", "top.correct", "me.correct"},
		},
		"takes another delta": {liar: &liar{lax: true}, must: []string{"conflicts.rejected"}},
		"limits nobody":       {liar: &liar{free: true}, must: []string{"limits.enforced"}},
		"shows no lag":        {liar: &liar{hides: "scoreboard_outbox_lag_seconds"}, must: []string{"metrics.found"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			few <- struct{}{}
			defer func() { <-few }()
			r := accept(t, newLiar(t, c.liar).URL, cmp.Or(c.rate, 100), 3*time.Second, func(o *Options) {
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
					t.Errorf("%s was missed: measured %v, errors %v, notes %v", name, r.Measured[name], r.Errors, r.Notes)
				}
			}
			if got, want := r.Measured["lost"], float64(c.liar.dropped.Load()); got != want {
				t.Errorf("got %v lost, want the %v that were thrown away", got, want)
			}
			if r.Verdict != report.Failed {
				t.Errorf("got %s", r.Verdict)
			}
		})
	}
}

// A server that stalls a second every ten serves few requests slowly when few
// connections wait on it; all that were due meanwhile felt it.
//
// Not parallel, for it is about time.
func TestAStallShowsInTheCorrectedPercentileAlone(t *testing.T) {
	l := newLiar(t, &liar{})
	var began time.Time
	l.stall = func(time.Duration) time.Duration {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.seen.Load() == 0 {
			began = time.Now()
		}
		if since := time.Since(began); since > 2*time.Second && since < 3*time.Second {
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
	if r.FromDue.P99 < 700 || r.Service.P99 > 600 {
		t.Errorf("got p99 %v ms from due and %v ms of service; want the stall in the first alone", r.FromDue.P99, r.Service.P99)
	}
	if !slices.Contains(missed(r), "api.p99") || slices.Contains(missed(r), "api.service.p99") {
		t.Errorf("missed %v with api.p99 %v ms", missed(r), r.Measured["api.p99"])
	}
}

// A comparison that breaks off loses neither the report nor a criterion.
func TestWhatCannotBeComparedFails(t *testing.T) {
	t.Parallel()
	r := accept(t, newLiar(t, &liar{mute: true}).URL, 50, 2*time.Second, nil)
	for _, name := range []string{"lost", "doubled", "audit.found", "top.correct", "me.correct", "metrics.found"} {
		if _, known := r.Measured[name]; known || !slices.Contains(missed(r), name) {
			t.Errorf("%s was measured: %v", name, r.Measured[name])
		}
	}
	if r.Verdict != report.Failed || r.Cut || !strings.Contains(strings.Join(r.Notes, "; "), "the comparison was given up: read the scores: ") {
		t.Errorf("got %s, cut %v, notes %v", r.Verdict, r.Cut, r.Notes)
	}
}

// What a rate limit turns away was not refused for its signature.
func TestARefusalByTheLimitSaysNothingOfSignatures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  int
		problem bool
		want    tally
	}{
		"refused":         {401, false, tally{1, 1}},
		"not looked at":   {429, false, tally{}},
		"accepted":        {200, true, tally{1, 0}},
		"refused wrongly": {400, true, tally{1, 0}},
		"broken":          {503, true, tally{}},
	} {
		b := newBook(&Plan{Users: 1})
		problem := b.take(event{kind: record.Forged}, c.status, "", []byte("{}"))
		if (problem != "") != c.problem || b.forged != c.want {
			t.Errorf("%s: got %q, %+v", name, problem, b.forged)
		}
	}
}

// A row of the ledger is a trail where it tells what became of which score.
func TestARowOfTheLedgerTells(t *testing.T) {
	t.Parallel()
	before, now := int64(7), time.Now()
	good := protocol.Receipt{Applied: 5, PreviousScore: &before, NewScore: 12, Version: 1, RecordedAt: now}
	if !tells(good, 5) || tells(good, 6) {
		t.Error("a good row does not tell, or tells of another delta")
	}
	for name, change := range map[string]func(*protocol.Receipt){
		"no score before": func(r *protocol.Receipt) { r.PreviousScore = nil },
		"another sum":     func(r *protocol.Receipt) { r.NewScore++ },
		"another delta":   func(r *protocol.Receipt) { r.Applied++ },
		"no version":      func(r *protocol.Receipt) { r.Version = 0 },
		"no time":         func(r *protocol.Receipt) { r.RecordedAt = time.Time{} },
	} {
		row := good
		change(&row)
		if tells(row, 5) {
			t.Errorf("%s: it is taken for a trail", name)
		}
	}
}

// Freshness of two clocks that differ is not zero, it is unknown.
func TestASightBeforeTheCommitIsNoSample(t *testing.T) {
	t.Parallel()
	r := &run{}
	r.sample("client", time.Now(), -time.Millisecond)
	r.sample("client", time.Now(), time.Millisecond)
	if len(r.samples) != 1 || r.ahead != 1 {
		t.Errorf("got %d samples, %d before their commit", len(r.samples), r.ahead)
	}
}
