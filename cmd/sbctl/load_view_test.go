package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/scoreboard/scoreboard/loadgen"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

func TestLoadProgress(t *testing.T) {
	t.Parallel()
	g := loadgen.Progress{
		Elapsed: 15 * time.Second, Length: time.Minute, Target: 1000, Achieved: 998.4,
		State: report.State{
			Sent: 15_000, Failed: 3, API: report.Latency{P50: 2.14, P95: 8, P99: 13.2},
			Late: report.Latency{P99: 1.04}, Redis: 36, Client: 206, P99s: append(make([]float64, 30), 1, 26.4, 13.2),
			Errors: []report.Count{{What: "increment: 503 overloaded", N: 2}, {What: "read: i/o timeout", N: 1}},
		},
		Tick: record.Tick{OutboxDepth: 12, Lag: 30},
	}
	model, _ := loadView{}.Update(loadgen.Progress{Achieved: 500})
	model, _ = model.Update(g)
	want := `━━━━━━━━━━──────────────────────────────  15s of 1m0s
target / answered      1000 / 998 per second
from scheduled time    p50 2.1   p95 8.0   p99 13.2 ms
sent late by           p99 1.0 ms
failed                 3 (2 x increment: 503 overloaded, 1 x read: i/o timeout)
backlog                12 in the outbox, 30 to consume
visible after, p95     36 ms in Redis, 206 ms by clients
answered each second    █                                       1000/s
                       ▅█
                       ██
p99 over time                                         █         26.4 ms
                                                      █▅
                                                     ▁██
`
	if got := model.View(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for range 100 { // a chart keeps its width
		model, _ = model.Update(g)
	}
	for line := range strings.Lines(model.View()) {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("a line has %d characters: %s", n, line)
		}
	}
	line := "    15 s  target 1000/s, answered 998/s, late 1.0 ms; p50 2.1, p95 8.0, p99 13.2 ms; " +
		"3 failed (2 x increment: 503 overloaded, 1 x read: i/o timeout); outbox 12, lag 30; Redis 36, client 206 ms"
	if got := progressLine(&g); got != line {
		t.Errorf("got\n%s\nwant\n%s", got, line)
	}
	g.Redis, g.Client = 0, 0 // no watchers
	model, _ = loadView{}.Update(g)
	if got := model.View() + progressLine(&g); strings.Contains(got, "Redis") {
		t.Errorf("without a watcher: got\n%s", got)
	}
	if empty := (loadView{}).View(); strings.TrimSpace(empty) != "" {
		t.Errorf("before the first second: got %q", empty)
	}
}

// A generator that was too busy to send on schedule is reported.
func TestNoteReport(t *testing.T) {
	t.Parallel()
	const busy = "behind: this machine was too busy to send on schedule; the other figures do not describe the server\n"
	for _, tc := range []struct {
		name, out, want string
		criterion       report.Criterion
	}{
		{"late", "", busy, report.Criterion{Name: "behind"}},
		{"in time", "", "", report.Criterion{Name: "behind", Pass: true}},
		{
			"slow", "out/a", "report: " + filepath.Join("out", "a", "report.html") + " (and report.json)\n" +
				"its users are still on the boards: sbctl load clean out/a\n",
			report.Criterion{Name: "api.p95"},
		},
	} {
		var out strings.Builder
		to := &output{process: &process{stderr: &out}}
		noteReport(to, &report.Report{Criteria: []report.Criterion{tc.criterion}}, tc.out)
		if out.String() != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, out.String(), tc.want)
		}
	}
}
