package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/loadgen"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// What a load shows on a terminal, and without one.
func TestALoadIsShownInAViewAndInALine(t *testing.T) {
	t.Parallel()
	g := loadgen.Progress{
		Elapsed: 15 * time.Second, Length: time.Minute, Target: 1000, Achieved: 998.4,
		State: report.State{
			Sent: 15_000, Failed: 3, API: report.Latency{P50: 2.14, P95: 8, P99: 13.2}, Late: report.Latency{P99: 1.04}, Redis: 36, Client: 206,
			Errors: []report.Count{{What: "increment: 503 overloaded", N: 2}, {What: "read: i/o timeout", N: 1}},
		},
		Tick: record.Tick{OutboxDepth: 12, Lag: 30},
	}
	model, _ := loadView{}.Update(g)
	want := `━━━━━━━━━━──────────────────────────────  15s of 1m0s
asked / answered       1000 / 998 a second
from due               p50 2.1   p95 8.0   p99 13.2 ms
sent late by           p99 1.0 ms
failed                 3 (2 x increment: 503 overloaded, 1 x read: i/o timeout)
waiting                12 in the outbox, 30 to consume
seen after, p95        36 ms in Redis, 206 ms by clients
`
	if got := model.View(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	line := "    15 s  asked 1000/s, answered 998/s, late 1.0 ms; p50 2.1, p95 8.0, p99 13.2 ms; " +
		"3 failed (2 x increment: 503 overloaded, 1 x read: i/o timeout); outbox 12, to consume 30; Redis 36, client 206 ms"
	if got := progressLine(&g); got != line {
		t.Errorf("got\n%s\nwant\n%s", got, line)
	}
	g.Redis, g.Client = 0, 0 // nobody watches
	model, _ = loadView{}.Update(g)
	if got := model.View() + progressLine(&g); strings.Contains(got, "Redis") {
		t.Errorf("without a watcher: got\n%s", got)
	}
	if empty := (loadView{}).View(); strings.TrimSpace(empty) != "" {
		t.Errorf("before the first second: got %q", empty)
	}
}

// A generator that could not send in time has measured itself, which is said.
func TestWhatIsSaidOfAReport(t *testing.T) {
	t.Parallel()
	const busy = "behind: this machine was too busy to send in time, so the other figures say little of the server\n"
	for _, tc := range []struct {
		name, out, want string
		criterion       report.Criterion
	}{
		{"late", "", busy, report.Criterion{Name: "behind"}},
		{"in time", "", "", report.Criterion{Name: "behind", Pass: true}},
		{"slow", "out/a", "the report is " + filepath.Join("out", "a", "report.html") + ", and report.json beside it\n", report.Criterion{Name: "api.p95"}},
	} {
		var said strings.Builder
		(&program{stderr: &said}).noteReport(&report.Report{Criteria: []report.Criterion{tc.criterion}}, tc.out)
		if said.String() != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, said.String(), tc.want)
		}
	}
}
