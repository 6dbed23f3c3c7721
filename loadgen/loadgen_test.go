package loadgen

import (
	"context"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/scoreboard/scoreboard/client/clienttest"
	"github.com/scoreboard/scoreboard/internal/backendtest"
	"github.com/scoreboard/scoreboard/loadgen/pace"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
	"github.com/scoreboard/scoreboard/server/protocol"
)

func TestMain(m *testing.M) { backendtest.Main(m) }

// load are the options of a plain load: what is due falls due in a second, and
// then one more, which leaves time for what a busy machine was late with.
func load(t *testing.T, url, rate string, change func(*Plan)) Options {
	t.Helper()
	p, err := pace.Parse(rate+"/1s,1/2s", time.Second)
	if strings.Contains(rate, "/") {
		p, err = pace.Parse(rate, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Server: Server{URL: url, Token: clienttest.Token("load", "score:update"), KeyID: clienttest.KeyID, KeySecret: clienttest.Secret},
		Plan:   Plan{Pace: p, Users: 20, Seed: 7, Mode: Sync, Connections: DefaultConnections},
		Say:    func(string, ...any) {}, Show: func(Progress) {},
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

func TestRunSendsWhatIsDueAndSaysSo(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	r := play(t, t.Context(), load(t, s.URL, "150", func(p *Plan) { p.Skew = 1.2 }))
	if r.Verdict != report.Passed || r.Asked != 152 || r.Sent != 152 || r.Succeeded != 152 || r.Cut || math.Abs(r.Rate-152.0/3) > 0.01 {
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
	if most := counts[len(counts)-1]; most < 40 || len(users) > 20 {
		t.Errorf("the draw is not skewed: %v", users)
	}
	if r.FromDue.P50 <= 0 || r.FromDue.Max < r.FromDue.P50 {
		t.Errorf("latency: got %+v", r.FromDue)
	}
}

// What a load is made of arrives, and what had to be refused is no error.
func TestAMixIsPlayedInItsShares(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Plan)
		hits   uint64 // increments and reads
		reads  int
	}{
		"sync":  {func(p *Plan) { p.Reads, p.Repeats, p.Forged = 0.5, 0.2, 0.1 }, 303, 101},
		"async": {func(p *Plan) { p.Mode = Async; p.Reads = 0.1 }, 222, 21},
		"batch": {func(p *Plan) { p.Mode, p.Size, p.Repeats, p.Reads = Batch, 10, 0.1, 0.2 }, 60, 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := clienttest.New(t)
			o := load(t, s.URL, "200", c.change)
			r := play(t, t.Context(), o)
			if r.Verdict != report.Passed || r.Sent != c.hits || len(r.Errors) > 0 {
				t.Errorf("got %d sent, %.1f/s, errors %v", r.Sent, r.Rate, r.Errors)
			}
			reads, forged, events, async := 0, 0, map[string]int{}, 0
			for _, seen := range s.Seen() {
				if seen.Method == http.MethodGet {
					reads++
				}
				if seen.Header.Get("Prefer") == "respond-async" {
					async++
				}
				if id := seen.Increment.EventID; id != "" {
					events[id]++
					if protocol.Sign(clienttest.Secret, seen.Increment.FieldText()) != seen.Increment.Signature {
						forged++
					}
				}
			}
			repeats := 0
			for _, n := range events {
				repeats += n - 1
			}
			if reads != c.reads || name == "sync" && (forged < 8 || forged > 35 || repeats < 20 || repeats > 60) || name == "async" && async != 201 {
				t.Errorf("got %d reads, %d forged, %d repeats, %d async", reads, forged, repeats, async)
			}
			if name == "sync" && (r.Measured["replays.rejected"] != 100 || r.Measured["signatures.rejected"] != 100) {
				t.Errorf("got %v", r.Measured)
			}
		})
	}
}

// With all connections taken the generator falls behind, and that is a failure
// of the run, whatever the latency of those it sent.
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
	r := play(t, t.Context(), load(t, server.URL, "2000/1s", func(p *Plan) { p.Connections = 64 }))
	if r.Verdict != report.Failed || r.Measured["behind"] < 90 || r.Asked != 2000 {
		t.Errorf("got %s, behind %v", r.Verdict, r.Measured["behind"])
	}
}

func TestErrorsFail(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	o := load(t, s.URL, "50/200ms", nil)
	o.Server.KeySecret = "wrong"
	r := play(t, t.Context(), o)
	if r.Verdict != report.Failed || r.Succeeded != 0 || len(r.Errors) != 1 || r.Errors[0] != (report.Count{What: "increment: 401 invalid_signature", N: 10}) {
		t.Errorf("wrong key: got %+v", r.Errors)
	}
	s.Close()
	if _, err := Run(t.Context(), load(t, s.URL, "50", nil)); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("no server: got %v", err)
	}
}

func TestACutRunIsJudgedByWhatWasDue(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	r := play(t, ctx, load(t, s.URL, "100/1h", nil))
	if !r.Cut || r.Verdict == report.Passed || r.Asked < 1 || r.Asked > 1000 {
		t.Errorf("got %+v, want about 50 due and a run that was cut and cannot pass", r)
	}
}

func TestBadPlansAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Plan){
		"no rate":        func(p *Plan) { p.Pace = pace.Pace{} },
		"no users":       func(p *Plan) { p.Users = 0 },
		"too many users": func(p *Plan) { p.Users = 1e9 },
		"skew":           func(p *Plan) { p.Skew = 0.5 },
		"no skew at all": func(p *Plan) { p.Skew = math.NaN() },
		"endless skew":   func(p *Plan) { p.Skew = math.Inf(1) },
		"no share":       func(p *Plan) { p.Repeats = math.NaN() },
		"no reads":       func(p *Plan) { p.Reads = math.NaN() },
		"shares":         func(p *Plan) { p.Repeats, p.Forged = 0.5, 0.5 },
		"negative":       func(p *Plan) { p.Conflicts = -0.1 },
		"mode":           func(p *Plan) { p.Mode = "fast" },
		"batch of none":  func(p *Plan) { p.Mode = Batch },
		"forged batch":   func(p *Plan) { p.Mode, p.Size, p.Forged = Batch, 5, 0.1 },
		"no connections": func(p *Plan) { p.Connections = 0 },
		"reads":          func(p *Plan) { p.Reads = -1 },
	} {
		if _, err := Run(t.Context(), load(t, "http://127.0.0.1:1", "10", change)); err == nil || !strings.Contains(err.Error(), "plan the load") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Who, how much and under which id is a function of seed and number: what
// became of events can be kept in a byte each.
func TestDrawIsAFunctionOfTheNumber(t *testing.T) {
	t.Parallel()
	o := load(t, "", "100/60s", func(p *Plan) { p.Users, p.Skew, p.Repeats, p.Conflicts, p.Forged = 1000, 1.3, 0.1, 0.1, 0.1 })
	began := time.Now()
	a, b := newDraw(&o.Plan, began), newDraw(&o.Plan, began)
	kinds := map[record.Kind]int{}
	ids := map[uuid.UUID]uint64{}
	for n := uint64(5999); n > 0; n-- {
		e := a.event(n)
		if again := b.event(n); e != again {
			t.Fatalf("%d: got %+v and %+v", n, e, again)
		}
		kinds[e.kind]++
		original := a.event(e.of)
		switch e.kind {
		case record.Increment, record.Forged:
			if e.of != n || ids[e.id] != 0 {
				t.Fatalf("%d has the id of %d: %+v", n, ids[e.id], e)
			}
			ids[e.id] = n
		case record.Repeat:
			if original.kind = record.Repeat; original != e || e.of >= n {
				t.Fatalf("%d repeats %+v as %+v", n, original, e)
			}
		case record.Conflict:
			if original.id != e.id || original.delta == e.delta || a.due.Due(n)-a.due.Due(e.of) < conflictAfter {
				t.Fatalf("%d conflicts with %+v as %+v", n, original, e)
			}
		}
	}
	for kind, want := range map[record.Kind]int{record.Increment: 4200, record.Repeat: 600, record.Conflict: 540, record.Forged: 600} {
		if got := kinds[kind]; got < want*8/10 || got > want*12/10 {
			t.Errorf("%v: got %d of 6000, want about %d", kind, got, want)
		}
	}
}
