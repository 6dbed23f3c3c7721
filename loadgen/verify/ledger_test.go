package verify

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// testPlan is a plan of 20 users.
func testPlan(t *testing.T, rate string) *plan.Plan {
	t.Helper()
	s, err := plan.ParseSchedule(rate, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &plan.Plan{Schedule: s, Users: 20, Seed: 7, Mode: plan.Sync}
}

// A probe that was rejected but recorded is detected.
func TestRejectedProbesAreLookedUp(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/recorded") {
			_, _ = w.Write(
				[]byte(
					`{"user_id":"probe","processed_event_id":"recorded","status":"done",` +
						`"applied":7,"new_score":7,"version":1}`,
				),
			)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error_code":"not_found","message":"no such event","request_id":"r"}`))
	}))
	defer server.Close()
	c, err := client.New(server.URL, client.Options{Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	v := &Verifier{
		Client: c, ProbeUser: "probe", RejectedProbes: []string{"never", "recorded", "not"},
		Measured: record.Measured{"rejected.recorded": 2},
	}
	if err := v.checkProbes(t.Context()); err != nil || v.Measured["rejected.recorded"] != 3 {
		t.Errorf("got %v, %v", v.Measured, err)
	}
}

// In a short run every event is looked up, including rejected ones.
func TestAllEventsOfAShortRunAreLookedUp(t *testing.T) {
	t.Parallel()
	p := testPlan(t, "20/1s")
	events := plan.NewEvents(p, time.Now())
	tracker := NewTracker(p)
	want := map[string]int{}
	for n := range uint64(20) {
		status, body := http.StatusUnauthorized, `{"error_code":"unauthorized","message":"no","request_id":"r"}`
		if n%2 == 0 {
			status, body = http.StatusOK, `{"processed_event_id":"e","status":"done"}`
		}
		e := events.At(n)
		tracker.Observe(e, status, "", []byte(body))
		want[e.ID.String()]++
	}
	var mu sync.Mutex
	lookups := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		lookups[strings.TrimPrefix(r.URL.Path, "/v1/events/")]++
		mu.Unlock()
		_, _ = w.Write(
			[]byte(`{"user_id":"u","processed_event_id":"e","status":"done","applied":7,"new_score":7,"version":1}`),
		)
	}))
	defer server.Close()
	c, err := client.New(server.URL, client.Options{Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	v := &Verifier{
		Client: c, Plan: p, Events: events, Tracker: tracker, lost: map[uint64]bool{}, Measured: record.Measured{},
	}
	if err := v.sampleEvents(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(lookups, want) || len(want) != 20 {
		t.Errorf("got the lookups %v, want %v", lookups, want)
	}
	// The rows have no previous score, so none is complete.
	if got := v.Measured; got["rejected.recorded"] != 10 || got["audit.found"] != 0 {
		t.Errorf("got %v", got)
	}
}

func TestSampleIsUniform(t *testing.T) {
	t.Parallel()
	var s sample
	for n := range uint64(100 * sampleSize) {
		s.add(n)
	}
	tenths := [10]int{}
	seen := map[uint64]bool{}
	for _, n := range s.kept {
		seen[n] = true
		tenths[n/(10*sampleSize)]++
	}
	if len(seen) != sampleSize {
		t.Errorf("got %d different numbers, want %d", len(seen), sampleSize)
	}
	for i, n := range tenths { // about 50 each; fewer than 10 has a probability of 1e-10
		if n < sampleSize/50 {
			t.Errorf("got %d numbers of tenth %d", n, i+1)
		}
	}
}

func TestIsComplete(t *testing.T) {
	t.Parallel()
	before, now := int64(7), time.Now()
	good := wire.Receipt{Applied: 5, PreviousScore: &before, NewScore: 12, Version: 1, RecordedAt: now}
	sums := &Verifier{Plan: &plan.Plan{}}
	if !sums.isComplete(good, 5) || sums.isComplete(good, 6) {
		t.Error("a complete row is rejected, or accepted for another delta")
	}
	for name, change := range map[string]func(*wire.Receipt){
		"no previous score": func(r *wire.Receipt) { r.PreviousScore = nil },
		"another score":     func(r *wire.Receipt) { r.NewScore++ },
		"another delta":     func(r *wire.Receipt) { r.Applied++ },
		"no version":        func(r *wire.Receipt) { r.Version = 0 },
		"no time":           func(r *wire.Receipt) { r.RecordedAt = time.Time{} },
	} {
		row := good
		change(&row)
		if sums.isComplete(row, 5) {
			t.Errorf("%s: the row is accepted as complete", name)
		}
	}
}

// Where the best score is kept, a row shows a score that is higher, with highscore also
// one that is not.
func TestIsCompleteForBestScores(t *testing.T) {
	t.Parallel()
	seven := int64(7)
	for name, tt := range map[string]struct {
		before           *int64
		after, applied   int64
		highscore, plain bool
	}{
		"first":         {nil, 9, 9, true, true},
		"first, other":  {nil, 8, 8, false, false},
		"higher":        {&seven, 9, 2, true, true},
		"added up":      {&seven, 16, 9, false, false},
		"applied twice": {&seven, 9, 4, false, false},
		"kept":          {&seven, 7, 0, false, false},
	} {
		row := wire.Receipt{
			PreviousScore: tt.before, NewScore: tt.after, Applied: tt.applied, Version: 1, RecordedAt: time.Now(),
		}
		for dialect, want := range map[string]bool{plan.Highscore: tt.highscore, plan.Plain: tt.plain} {
			if got := (&Verifier{Plan: &plan.Plan{Dialect: dialect}}).isComplete(row, 9); got != want {
				t.Errorf("%s: %s: got %v, want %v", name, dialect, got, want)
			}
		}
	}
	eleven := int64(11)
	row := wire.Receipt{PreviousScore: &eleven, NewScore: 11, Version: 1, RecordedAt: time.Now()}
	if !(&Verifier{Plan: &plan.Plan{Dialect: plan.Highscore}}).isComplete(row, 9) ||
		(&Verifier{Plan: &plan.Plan{Dialect: plan.Plain}}).isComplete(row, 9) {
		t.Error("a score that is not higher has a row with highscore only")
	}
}
