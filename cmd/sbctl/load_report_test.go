package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// recordRun writes the record of a run of a second, whose requests took a time each.
func recordRun(t *testing.T, rate string, took time.Duration) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "raw.zst")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := record.NewWriter(f, record.Header{
		Duration: time.Second, Scheduled: []uint64{100}, Parameters: map[string]any{"rate": rate, "seconds": 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		at := time.Duration(i) * 10 * time.Millisecond
		w.Hit(record.Hit{N: 1, Scheduled: at, Service: took, Status: 200})
	}
	if err := w.Close(record.Ending{Lasted: time.Second}); err != nil {
		t.Fatal(err)
	}
	return path
}

// A comparison marks what became worse or better in every format, and is a gate by its exit
// code.
func TestLoadReportIsAGate(t *testing.T) {
	t.Parallel()
	fast, slow := recordRun(t, "100", 20*time.Millisecond), recordRun(t, "100", 30*time.Millisecond)
	faster := recordRun(t, "50", 10*time.Millisecond)
	for name, c := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"worse": {
			[]string{slow, "--against", fast, "--color", "always"},
			3,
			[]string{"METRIC", "+50%", "✗ regressed", "\nregressed api.p50, api.p95, api.p99; 3 unchanged\n"},
		},
		"without colours": {
			[]string{slow, "--against", fast},
			3,
			[]string{"api.p95             30.0 ms   20.0 ms      +50%         10%  regressed\n"},
		},
		"better": {
			[]string{fast, "--against", slow, "--color", "always"},
			0,
			[]string{"-33%", "✓ improved", "\nimproved api.p50, api.p95, api.p99; 3 unchanged\n"},
		},
		"the same": {[]string{fast, "--against", fast}, 0, []string{"\n6 unchanged\n"}},
		"allowed": {
			[]string{
				slow, "--against", fast,
				"--threshold", "p50=60%", "--threshold", "p95=11ms", "--threshold", "p99=1s",
			},
			0,
			[]string{"6 unchanged\n"},
		},
		"another rate": {
			[]string{fast, "--against", faster, "--color", "always"},
			3,
			[]string{"✗ mismatch", "incomparable: the runs differ in rate; nothing was compared\n"},
		},
		"JSON": {
			[]string{slow, "--against", fast, "--format", "json"},
			3,
			[]string{`"verdict": "regressed"`, `"change_percent": `, `"result": "regressed"`},
		},
		"YAML": {[]string{slow, "--against", fast, "--output", "yaml"}, 3, []string{"result: regressed\n"}},
		"HTML": {
			[]string{slow, "--against", fast, "--format", "html"},
			3,
			[]string{"✗ regressed</td>", "regressed api.p50, api.p95, api.p99; 3 unchanged"},
		},
		"unknown metric": {
			[]string{slow, "--against", fast, "--threshold", "p97=1%"},
			2,
			[]string{"unknown metric"},
		},
		"no value": {
			[]string{slow, "--against", fast, "--threshold", "p95"},
			2,
			[]string{"write it as p95=10%"},
		},
		"nothing to gate": {[]string{slow, "--threshold", "p95=1%"}, 2, []string{"--threshold requires --against"}},
		"histogram": {
			[]string{slow, "--against", fast, "--format", "hdr"},
			2,
			[]string{"--against requires --format"},
		},
		"not a record": {
			[]string{slow, "--against", "load_report_test.go"},
			1,
			[]string{"load_report_test.go: read"},
		},
		"no comparison": {[]string{slow}, 0, []string{"passed: "}},
	} {
		var out bytes.Buffer
		code := run(t.Context(), append([]string{"load", "report"}, c.args...), strings.NewReader(""), &out, &out, nil)
		if code != c.code {
			t.Errorf("%s: got code %d, want %d:\n%s", name, code, c.code, out.String())
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, out.String())
			}
		}
	}
	var out bytes.Buffer
	run(t.Context(), []string{"load", "report", slow, "--against", fast, "-o", "json"}, nil, &out, &out, nil)
	var r report.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Comparison == nil ||
		r.Comparison.Verdict != report.Regressed {
		t.Errorf("got %v, %+v", err, r.Comparison)
	}
}
