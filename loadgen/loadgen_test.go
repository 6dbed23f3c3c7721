package loadgen

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
	"go.uber.org/goleak"

	"github.com/scoreboard/scoreboard/client/clienttest"
	"github.com/scoreboard/scoreboard/server/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func against(s *clienttest.Server) Server {
	return Server{URL: s.URL, Token: clienttest.Token("load", "score:update"), KeyID: clienttest.KeyID, KeySecret: clienttest.Secret}
}

func play(t *testing.T, ctx context.Context, s Server, p Plan) *Report {
	t.Helper()
	report, err := Run(ctx, s, p, func(Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestRunSendsWhatIsDueAndSaysSo(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	report := play(t, t.Context(), against(s), Plan{Rate: 100, Duration: 1500 * time.Millisecond, Users: 20, Skew: 1.2, Seed: 7})
	if report.Verdict != Passed || report.Asked != 150 || report.Sent != 150 || report.Succeeded != 150 || report.Cut {
		t.Errorf("got %+v", report)
	}
	events, users := map[string]bool{}, map[string]int{}
	for _, r := range s.Seen() {
		events[r.Increment.EventID] = true
		users[r.Increment.UserID]++
	}
	if len(events) != 150 {
		t.Errorf("got %d event ids for 150 increments", len(events))
	}
	counts := slices.Sorted(maps.Values(users))
	if most := counts[len(counts)-1]; most < 40 || len(users) > 20 {
		t.Errorf("the draw is not skewed: %v", users)
	}
	if report.FromDue.P50 <= 0 || report.FromDue.P99 > 500 || report.FromDue.Max < report.FromDue.P50 {
		t.Errorf("latency: got %+v", report.FromDue)
	}
}

// Latency runs from when an increment was due, however late it was sent.
func TestLatencyRunsFromDue(t *testing.T) {
	t.Parallel()
	r := newRecorder(&Plan{Rate: 100, Duration: time.Minute, Users: 1})
	r.add(&vegeta.Result{Seq: 200, Code: 200, Latency: 5 * time.Millisecond}, 2*time.Second+400*time.Millisecond)
	report := r.judge(time.Now(), time.Minute, false)
	for name, pair := range map[string][2]float64{
		"from due": {report.FromDue.P50, 405}, "service": {report.Service.P50, 5}, "late": {report.Late.P50, 400},
	} {
		if got, want := pair[0], pair[1]; got < want*0.995 || got > want*1.005 {
			t.Errorf("%s: got %v ms, want %v", name, got, want)
		}
	}
}

// A server that stalls must show in every increment that was due meanwhile,
// although the stall lasted for a few connections only.
func TestAStallShowsInLatencyFromDue(t *testing.T) {
	t.Parallel()
	began := time.Now()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if since := time.Since(began); since > 300*time.Millisecond && since < 900*time.Millisecond {
			time.Sleep(900*time.Millisecond - since)
		}
		_ = json.NewEncoder(w).Encode(protocol.Receipt{Status: protocol.StatusDone})
	}))
	defer server.Close()
	report := play(t, t.Context(), Server{URL: server.URL}, Plan{Rate: 200, Duration: 1500 * time.Millisecond, Users: 5})
	if report.FromDue.P95 < 400 || report.FromDue.P50 > 300 {
		t.Errorf("after a stall of 600 ms in 1.5 s: got %+v, want a p95 of about 500 ms", report.FromDue)
	}
}

// With all connections taken the generator falls behind, and that is a failure
// of the run, whatever the latency of those it sent.
func TestFallingBehindFails(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	time.AfterFunc(2*time.Second, func() { close(release) })
	report := play(t, t.Context(), Server{URL: server.URL}, Plan{Rate: 2000, Duration: time.Second, Users: 5})
	behind := report.Criteria[2]
	if report.Verdict != Failed || behind.Pass || behind.Measured < 40 || report.Asked != 2000 {
		t.Errorf("got %+v, want half of it behind", report)
	}
}

func TestErrorsFail(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	bad := against(s)
	bad.KeySecret = "wrong"
	report := play(t, t.Context(), bad, Plan{Rate: 50, Duration: 200 * time.Millisecond, Users: 5})
	if report.Verdict != Failed || report.Succeeded != 0 || len(report.Errors) != 1 || report.Errors[0] != (Count{"401 invalid_signature", 10}) {
		t.Errorf("wrong key: got %+v", report)
	}
	s.Close()
	report = play(t, t.Context(), against(s), Plan{Rate: 50, Duration: 200 * time.Millisecond, Users: 5})
	if report.Verdict != Failed || report.Statuses["no answer"] != 10 {
		t.Errorf("no server: got %+v", report)
	}
}

func TestNoSamplesFail(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := clienttest.New(t)
	for range 10 {
		report := play(t, ctx, against(s), Plan{Rate: 10_000, Duration: time.Minute, Users: 1})
		if report.Verdict != Failed || !report.Cut || report.Sent != 0 {
			t.Errorf("got %+v, want failed and nothing sent", report)
		}
	}
	empty := newRecorder(&Plan{Rate: 10, Duration: time.Second, Users: 1}).judge(time.Now(), time.Second, false)
	for _, c := range empty.Criteria {
		if c.Pass {
			t.Errorf("nothing was sent at all, and %s passed: %+v", c.Name, c)
		}
	}
}

func TestACutRunIsJudgedByWhatWasDue(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	report := play(t, ctx, against(s), Plan{Rate: 100, Duration: time.Hour, Users: 3})
	if !report.Cut || report.Verdict != Passed || report.Asked < 40 || report.Asked > 70 {
		t.Errorf("got %+v, want about 50 due and a run that was cut", report)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	p := Plan{Rate: 3, Duration: 10 * time.Second, Users: 1}
	for n, want := range map[uint64]time.Duration{0: 0, 1: time.Second / 3, 3: time.Second, 30: 10 * time.Second} {
		if got := p.due(n); got != want {
			t.Errorf("due(%d): got %v, want %v", n, got, want)
		}
	}
	for n := range uint64(30) { // what is due at a moment is expected right after it
		if got := p.expected(p.due(n) + time.Millisecond); got != n && got != n+1 {
			t.Errorf("expected just after increment %d: got %d", n, got)
		}
	}
	if got := p.expected(time.Hour); got != 30 {
		t.Errorf("expected after the end: got %d, want 30", got)
	}
	long := Plan{Rate: 1_000_000, Duration: 1000 * time.Hour, Users: 1}
	if got := long.due(long.expected(long.Duration)); got != long.Duration {
		t.Errorf("a long run overflows: its last is due at %v", got)
	}
	for _, bad := range []Plan{
		{Rate: 0, Duration: 1, Users: 1},
		{Rate: 1, Duration: 0, Users: 1},
		{Rate: 1, Duration: 1, Users: 0},
		{Rate: 1, Duration: 1, Users: 1, Skew: 0.5},
	} {
		if _, err := Run(t.Context(), Server{}, bad, nil); err == nil {
			t.Errorf("plan %+v: got no error", bad)
		}
	}
}

func TestDrawRepeatsWithItsSeed(t *testing.T) {
	t.Parallel()
	for _, skew := range []float64{0, 1.3} {
		p := Plan{Users: 1000, Skew: skew, Seed: 42}
		a, b := newDraw(&p), newDraw(&p)
		for range 1000 {
			ua, da := a.next()
			ub, db := b.next()
			if ua != ub || da != db {
				t.Fatalf("skew %v: %s %d and %s %d from one seed", skew, ua, da, ub, db)
			}
			if len(ua) != len("user-0000000") || da < 1 || da > 100 {
				t.Fatalf("drew %s %d", ua, da)
			}
		}
	}
}

func TestReportIsWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	report := newRecorder(&Plan{Rate: 10, Duration: time.Second, Users: 1}).judge(time.Now(), time.Second, false)
	if err := report.Write(dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Verdict  string
		Criteria []map[string]any
	}
	if err := json.Unmarshal(b, &back); err != nil || back.Verdict != "failed" || len(back.Criteria) != 3 {
		t.Errorf("got %s, %v", b, err)
	}
	for _, key := range []string{"name", "source", "limit", "measured", "pass"} {
		if _, there := back.Criteria[0][key]; !there {
			t.Errorf("a criterion has no %q: %v", key, back.Criteria[0])
		}
	}
	if !strings.Contains(report.Text(), "FAIL samples") {
		t.Errorf("text:\n%s", report.Text())
	}
}
