package loadgen

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/instance"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

func TestMain(m *testing.M) { backends.Main(m) }

// load returns the options of a load: a second of requests, and then one per
// second, which leaves a slow machine time to catch up.
func load(t *testing.T, url, rate string, change func(*plan.Plan)) Options {
	t.Helper()
	schedule, err := plan.ParseSchedule(rate+"/1s,1/2s", time.Second)
	if strings.Contains(rate, "/") {
		schedule, err = plan.ParseSchedule(rate, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Server: Server{
			URL:       url,
			Token:     instance.Token("load", "score:update"),
			KeyID:     instance.KeyID,
			KeySecret: instance.Secret,
		},
		Plan: plan.Plan{
			Schedule: schedule, Users: 20, Seed: 7, Mode: plan.Sync, Connections: plan.DefaultConnections,
		},
		Say: func(string, ...any) {}, Show: func(Progress) {},
	}
	if change != nil {
		change(&o.Plan)
	}
	return o
}

func play(t *testing.T, ctx context.Context, o Options) *Report {
	t.Helper()
	r, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRunSendsThePlan(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	r := play(t, t.Context(), load(t, s.URL, "150", func(p *plan.Plan) { p.Skew = 1.2 }))
	if r.Verdict != report.Passed || r.Scheduled != 152 || r.Sent != 152 || r.Succeeded != 152 || r.Cut ||
		math.Abs(r.Rate-152.0/3) > 0.01 {
		t.Errorf("got %+v", r)
	}
	events, users := map[string]bool{}, map[string]int{}
	for _, seen := range s.Seen() {
		if seen.Method == http.MethodPost && strings.HasSuffix(seen.Path, "/increment") {
			events[seen.Increment.EventID] = true
			users[seen.Increment.UserID]++
		}
	}
	if len(events) != 152 {
		t.Errorf("got %d event ids for 152 increments", len(events))
	}
	counts := slices.Sorted(maps.Values(users))
	if highest := counts[len(counts)-1]; highest < 40 || len(users) > 20 {
		t.Errorf("the users are not skewed: %v", users)
	}
	if r.Latency.P50 <= 0 || r.Latency.Max < r.Latency.P50 {
		t.Errorf("latency: got %+v", r.Latency)
	}
}

// The kinds of requests arrive in their shares, and required rejections are not
// errors. Reads are answered before the node, which rejects those that take longer than
// their budget, as on a busy machine.
func TestKindsAreSentInTheirShares(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*plan.Plan)
		hits   uint64 // increments and reads
		reads  int
	}{
		"sync":  {func(p *plan.Plan) { p.Reads, p.Repeats, p.Forged = 0.5, 0.2, 0.1 }, 303, 101},
		"async": {func(p *plan.Plan) { p.Mode = plan.Async; p.Reads = 0.1 }, 222, 21},
		"batch": {func(p *plan.Plan) { p.Mode, p.BatchSize, p.Repeats, p.Reads = plan.Batch, 10, 0.1, 0.2 }, 60, 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := instance.New(t)
			o := load(t, s.URL, "100/2s,1/2s", c.change)
			s.Script("/v1/leaderboard/top", client.Top{})
			for user := range o.Plan.Users {
				id := fmt.Sprintf("user-%07d", user)
				s.Script("/v1/users/"+id+"/rank", client.Place{UserID: id, Rank: 1, Total: 1, Score: 1})
			}
			r := play(t, t.Context(), o)
			if r.Verdict != report.Passed || r.Sent != c.hits || len(r.Errors) > 0 {
				t.Errorf("got %d sent, %.1f/s, errors %v", r.Sent, r.Rate, r.Errors)
			}
			reads, forged, events, async := 0, 0, map[string]int{}, 0
			for _, seen := range s.Seen() {
				if seen.Method == http.MethodGet {
					reads++
					if seen.ResponseID != "" {
						t.Errorf("the node answered %s", seen.Path)
					}
				}
				if seen.Header.Get("Prefer") == "respond-async" {
					async++
				}
				if id := seen.Increment.EventID; id != "" {
					events[id]++
					if wire.Sign(instance.Secret, seen.Increment.FieldText()) != seen.Increment.Signature {
						forged++
					}
				}
			}
			repeats := 0
			for _, n := range events {
				repeats += n - 1
			}
			if reads != c.reads || name == "async" && async != 201 ||
				name == "sync" && (forged < 8 || forged > 35 || repeats < 20 || repeats > 60) {
				t.Errorf("got %d reads, %d forged, %d repeats, %d async", reads, forged, repeats, async)
			}
			if name == "sync" && (r.Measured["replays.rejected"] != 100 || r.Measured["signatures.rejected"] != 100) {
				t.Errorf("got %v", r.Measured)
			}
		})
	}
}

// Without a free connection the generator falls behind, which fails the run
// regardless of latency.
func TestFallingBehindFails(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/tokens") {
			http.NotFound(w, r)
			return
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	time.AfterFunc(2*time.Second, func() { close(release) })
	r := play(t, t.Context(), load(t, server.URL, "2000/1s", func(p *plan.Plan) { p.Connections = 64 }))
	if r.Verdict != report.Failed || r.Measured["behind"] < 90 || r.Scheduled != 2000 {
		t.Errorf("got %s, behind %v", r.Verdict, r.Measured["behind"])
	}
}

func TestErrorsFail(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	o := load(t, s.URL, "50/200ms", nil)
	o.Server.KeySecret = "wrong"
	r := play(t, t.Context(), o)
	if r.Verdict != report.Failed || r.Succeeded != 0 || len(r.Errors) != 1 ||
		r.Errors[0] != (report.Count{What: "increment: 401 invalid_signature", N: 10}) {
		t.Errorf("wrong key: got %+v", r.Errors)
	}
	s.Close()
	if _, err := Run(t.Context(), load(t, s.URL, "50", nil)); err == nil ||
		!strings.Contains(err.Error(), "connection refused") {
		t.Errorf("no server: got %v", err)
	}
}

func TestCutRunCountsItsPart(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	r := play(t, ctx, load(t, s.URL, "100/1h", nil))
	if !r.Cut || r.Verdict == report.Passed || r.Scheduled < 1 || r.Scheduled > 1000 {
		t.Errorf("got %+v, want about 50 scheduled requests and a cut run that cannot pass", r)
	}
}

func TestInvalidPlansAreRejected(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*plan.Plan){
		"no rate":        func(p *plan.Plan) { p.Schedule = plan.Schedule{} },
		"no users":       func(p *plan.Plan) { p.Users = 0 },
		"too many users": func(p *plan.Plan) { p.Users = 1e9 },
		"skew":           func(p *plan.Plan) { p.Skew = 0.5 },
		"no skew at all": func(p *plan.Plan) { p.Skew = math.NaN() },
		"endless skew":   func(p *plan.Plan) { p.Skew = math.Inf(1) },
		"no share":       func(p *plan.Plan) { p.Repeats = math.NaN() },
		"no reads":       func(p *plan.Plan) { p.Reads = math.NaN() },
		"shares":         func(p *plan.Plan) { p.Repeats, p.Forged = 0.5, 0.5 },
		"negative":       func(p *plan.Plan) { p.Conflicts = -0.1 },
		"mode":           func(p *plan.Plan) { p.Mode = "fast" },
		"batch of none":  func(p *plan.Plan) { p.Mode = plan.Batch },
		"forged batch":   func(p *plan.Plan) { p.Mode, p.BatchSize, p.Forged = plan.Batch, 5, 0.1 },
		"no connections": func(p *plan.Plan) { p.Connections = 0 },
		"reads":          func(p *plan.Plan) { p.Reads = -1 },
	} {
		_, err := Run(t.Context(), load(t, "http://127.0.0.1:1", "10", change))
		if err == nil || !strings.Contains(err.Error(), "invalid load: ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
