package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/scoreboard/scoreboard/loadgen/criteria"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// recorded is a run of ten seconds of 100 requests, a fifth of them reads,
// with a stall from 4 s to 5 s. Its last second was never sent.
func recorded(t *testing.T) *bytes.Reader {
	t.Helper()
	var out bytes.Buffer
	h := record.Header{
		Began:      time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		Profile:    "A",
		Scaled:     true,
		Duration:   10 * time.Second,
		Parameters: map[string]any{"rate": "80", "users": 20},
		Machine: record.Machine{
			Host:    "here",
			OS:      "linux",
			CPU:     "a <processor>",
			Cores:   2,
			Go:      "go1.26",
			Version: "0.1",
			Commit:  "abc",
		},
		Checks: []record.Check{
			{Text: "api.p99 <= 200ms", Source: "A"},
			{Text: "errors < 1%", Source: "A"},
			{Text: "lost == 0", Source: "A"},
			{Text: "freshness.redis.p95 <= 2s", Source: "A"},
			{Text: "freshness.client.p95 <= 1s", Source: "A"},
			{Text: "behind <= 1%", Source: "itself"},
			{Text: "increments.rate >= 75", Source: "B"},
		},
	}
	for range 10 {
		h.Scheduled = append(h.Scheduled, 100)
	}
	w, err := record.NewWriter(&out, h)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 900 {
		at := time.Duration(i) * 10 * time.Millisecond
		hit := record.Hit{
			Kind: record.Increment, N: 1, Scheduled: at, Late: 50 * time.Microsecond,
			Service: time.Duration(2000+i%100*10) * time.Microsecond, Status: 200,
		}
		if i%5 == 0 {
			hit.Kind = record.Read
		}
		if at >= 4*time.Second && at < 5*time.Second {
			hit.Late = 5*time.Second - at
		}
		if i%300 == 1 {
			hit.Status, hit.Problem = 503, "503 <overloaded>"
		}
		w.Hit(hit)
		if i%100 == 0 {
			w.Tick(record.Tick{At: at, OutboxDepth: int64(i), OldestMS: int64(i / 10)})
			w.Sample(record.Sample{Where: "redis", At: at, Took: 90 * time.Millisecond})
		}
	}
	err = w.Close(record.Ending{
		Lasted: 10 * time.Second, Measured: map[string]float64{"lost": 0}, Notes: []string{"the clock is the same"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(out.Bytes())
}

func TestReportsAreGolden(t *testing.T) {
	t.Parallel()
	r, b, err := Make(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := Make(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	other.Rate, other.Measured["increments.rate"], other.Machine.Commit = 50, 50, "def"
	other.Latency.P99, other.Measured["api.p99"], other.Criteria[0].shown = 1012.5, 1012.5, "1,013 ms"
	compared, _, err := Make(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	compared.Against(other, nil)
	for name, write := range map[string]func(io.Writer) error{
		"report.txt": r.Text, "report.json": r.JSON, "report.html": r.HTML, "report.hgrm": b.Histogram,
		"compare.html": func(w io.Writer) error { // the section of the comparison
			var page strings.Builder
			err := compared.HTML(&page)
			_, added, _ := strings.Cut(page.String(), "<h2>Comparison with another run</h2>\n")
			added, _, _ = strings.Cut(added, "<h2>Over time")
			_, _ = io.WriteString(w, added)
			return err
		},
	} {
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s has changed; run with -update and compare:\n%s", name, got.String())
		}
	}
}

// Checks the figures independently of the golden files.
func TestFigures(t *testing.T) {
	t.Parallel()
	r, _, err := Make(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	if r.Scheduled != 1000 || r.Sent != 900 || r.Succeeded != 897 || r.Rate != 71.7 || r.ReadsRate != 18 || r.Cut {
		t.Errorf("got %d scheduled, %d sent, %d succeeded, %v/s, %v reads/s",
			r.Scheduled, r.Sent, r.Succeeded, r.Rate, r.ReadsRate)
	}
	if r.Latency.P99 < 800 || r.Service.P99 > 3.1 || r.Latency.P50 > 3.1 || r.Late.Max < 990 {
		t.Errorf(
			"the stall must show in the latency and not in the service time: got %+v and %+v", r.Latency, r.Service,
		)
	}
	verdicts := map[string]bool{}
	for _, c := range r.Criteria {
		verdicts[c.Name] = c.Pass
		if (c.Measured == nil) != (c.Name == "freshness.client.p95") {
			t.Errorf("%s: measured %v", c.Name, c.Measured)
		}
	}
	for name, want := range map[string]bool{
		"api.p99": false, "errors": true, "lost": true, "freshness.redis.p95": true,
		"freshness.client.p95": false, // no samples
		"behind":               false, // a tenth
	} {
		if verdicts[name] != want {
			t.Errorf("%s: got %v, want %v", name, verdicts[name], want)
		}
	}
	if r.Verdict != Failed {
		t.Errorf("got %s", r.Verdict)
	}
	s := r.Timeline[4]
	if len(r.Timeline) != 10 || s.P99 < 900 || s.P95 < 900 || s.P95 > s.P99 || r.Timeline[5].P99 > 4 ||
		s.Target != 100 || s.Sent != 100 ||
		r.Timeline[3].P99 > 4 || r.Timeline[9].Sent != 0 {
		t.Errorf("got the timeline %+v", r.Timeline)
	}
}

// A missed criterion says where in the run it was missed, and draws it; one that is met does not.
func TestWhereACriterionBroke(t *testing.T) {
	t.Parallel()
	r, _, err := Make(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][2]string{}
	for _, c := range r.Criteria {
		if c.Where != "" {
			got[c.Name] = [2]string{c.spark, c.Where}
		}
	}
	want := map[string][2]string{
		"api.p99": {"▁▁▁▁█▁▁▁▁ ", "missed in 1 of 10 s, from 4 s to 5 s; worst at 4 s: 983.0 ms"},
		// By the time of the response: what was due in the fifth second was answered in the sixth.
		"increments.rate": {"▄▅▅▄ █▄▅▅ ", "missed in 2 of 10 s, from 4 s to 10 s; worst at 4 s: 0"},
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	var text, markdown strings.Builder
	if err := errors.Join(r.Text(&text), r.Markdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{text.String(), markdown.String()} {
		if strings.Count(shown, "▁▁▁▁█▁▁▁▁") != 1 || strings.Count(shown, "worst at 4 s") != 2 {
			t.Errorf("got\n%s", shown)
		}
	}
	long := &Report{Seconds: 600}
	for i := range 300 {
		long.Timeline = append(long.Timeline, Slice{At: float64(2 * i), P95: 10})
	}
	long.Timeline[150].P95, long.Timeline[299].P95 = 500, 201
	c, err := criteria.Parse("api.p95 <= 200ms", "me")
	if err != nil {
		t.Fatal(err)
	}
	drawn, words := long.where(c)
	if n := utf8.RuneCountInString(drawn); n != sparkWidth || strings.Count(drawn, "█") != 1 ||
		words != "missed in 4 of 600 s, from 300 s to 600 s; worst at 300 s: 500.0 ms" {
		t.Errorf("a long run: got %d columns, %q, %s", n, drawn, words)
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scaled bool
		limit  string
		want   string
	}{
		"all met":             {false, "lost == 0", Passed},
		"all met, scaled":     {true, "lost == 0", Scaled},
		"missed":              {false, "lost == 1", Failed},
		"missed, scaled":      {true, "lost == 1", Failed},
		"not measured at all": {false, "doubled == 0", Failed},
	} {
		b := NewBuilder(record.Header{Scaled: c.scaled, Checks: []record.Check{{Text: c.limit, Source: "me"}}})
		b.Ending(record.Ending{Measured: map[string]float64{"lost": 0}})
		r, err := b.Report()
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != c.want {
			t.Errorf("%s: got %s, want %s", name, r.Verdict, c.want)
		}
	}
}

// A crashed run has a report, which cannot pass.
func TestCrashedRunsAreCut(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w, err := record.NewWriter(&out, record.Header{
		Duration: time.Minute, Scheduled: make([]uint64, 60), Checks: []record.Check{{Text: "lost == 0", Source: "A"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		w.Hit(record.Hit{N: 1, Scheduled: time.Duration(i) * 10 * time.Millisecond, Status: 200})
		if i%100 == 99 {
			w.Tick(record.Tick{})
		}
	}
	r, _, err := Make(bytes.NewReader(out.Bytes())) // not closed
	if err != nil {
		t.Fatal(err)
	}
	if !r.Cut || r.Verdict != Failed || r.Sent != 300 || r.Seconds != 2.99 || len(r.Notes) != 1 {
		t.Errorf("got %+v", r)
	}
}

func TestSkippedCriteriaPreventPassing(t *testing.T) {
	t.Parallel()
	b := NewBuilder(record.Header{Checks: []record.Check{
		{Text: "lost == 0", Source: "A"}, {Text: "alerts.loaded == 100%", Source: "A"},
	}})
	b.Ending(record.Ending{
		Measured: record.Measured{"lost": 0}, Skipped: map[string]string{"alerts.loaded": "not requested"},
	})
	r, err := b.Report()
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != Scaled || len(r.Criteria) != 1 || r.LeftOut[0].Pass || r.LeftOut[0].Skipped == "" ||
		r.headline() != "1 of 2 criteria met, 1 not measured" {
		t.Errorf("got %s: %s", r.Verdict, r.headline())
	}
}

func TestTimelineIsBounded(t *testing.T) {
	t.Parallel()
	b := NewBuilder(record.Header{Duration: 12 * time.Hour, Scheduled: make([]uint64, 12*3600)})
	for at := time.Duration(0); at < 13*time.Hour; at += time.Minute {
		b.Hit(record.Hit{Scheduled: at, N: 1, Status: 200})
	}
	b.Ending(record.Ending{Lasted: 12 * time.Hour})
	r, err := b.Report()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Timeline); n != maxSlices || r.Timeline[n-1].At != 48*float64(n-1) {
		t.Errorf("got %d intervals, the last at %v", n, r.Timeline[n-1].At)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	r, _, err := Make(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	j, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Verdict  string
		Criteria []map[string]any
	}
	if err := json.Unmarshal(j, &back); err != nil || back.Verdict != Failed || len(back.Criteria) != 7 {
		t.Errorf("got %s, %v", j, err)
	}
	for _, key := range []string{"name", "source", "limit", "measured", "pass"} {
		if _, ok := back.Criteria[0][key]; !ok {
			t.Errorf("a criterion has no %q: %v", key, back.Criteria[0])
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	if regexp.MustCompile(`(src|href)=|https?://|@import|url\(`).MatchString(text) {
		t.Error("the page refers to other files")
	}
	for _, want := range []string{
		"4 of 7", "a &lt;processor&gt;", "503 &lt;overloaded&gt;", "not measured", "<svg", "missed",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Error("a chart contains NaN or Inf")
	}
}

// The peak is the highest rate over whole windows, by the time of the responses: what a stalled server answers
// later does not count for when it was due.
func TestPeakOfTheRate(t *testing.T) {
	t.Parallel()
	at := func(second int, good uint64) func(*timeline) {
		return func(line *timeline) { line.at(time.Duration(second) * time.Second).good += good }
	}
	for name, c := range map[string]struct {
		lasted time.Duration
		good   []func(*timeline)
		want   float64
	}{
		"one window":      {10 * time.Second, []func(*timeline){at(0, 50), at(9, 50)}, 10},
		"the best of two": {20 * time.Second, []func(*timeline){at(3, 100), at(14, 100), at(15, 100)}, 20},
		"too short":       {9 * time.Second, []func(*timeline){at(0, 100)}, 0},
		"after the end":   {10 * time.Second, []func(*timeline){at(0, 10), at(12, 1000)}, 1},
	} {
		line := newTimeline(c.lasted)
		line.at(c.lasted) // exists
		for _, add := range c.good {
			add(line)
		}
		if got := line.peak(c.lasted, peakWindow); got != c.want {
			t.Errorf("%s: the peak is %g, want %g", name, got, c.want)
		}
	}
	r, _, err := Make(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	last := r.Criteria[len(r.Criteria)-1]
	if last.Peak == nil || *last.Peak != r.Measured["increments.peak"] || !strings.Contains(last.shown, "(peak ") {
		t.Errorf("the criterion of the rate is %+v, want the peak beside it", last)
	}
}

// CI reads the criteria as tests of JUnit and as Markdown: what was missed comes first.
func TestSummariesForCI(t *testing.T) {
	t.Parallel()
	r := &Report{
		Verdict: Failed, Profile: "A", Seconds: 1.5, Began: time.Unix(1_800_000_000, 0),
		Criteria: []Criterion{
			{Name: "errors", Limit: "< 1%", Source: "A", Pass: true, shown: "0%"},
			{Name: "api.p95", Limit: "< 200ms", Source: "a|b <c>", shown: "300.0 ms"},
			{Name: "increments.rate", Limit: ">= 10", Source: "B", shown: "5", Undecidable: "a small machine"},
		},
		LeftOut: []Criterion{{Name: "alerts.loaded", Limit: "== 100%", Source: "A", Skipped: "not requested"}},
	}
	var text strings.Builder
	if err := r.JUnit(&text); err != nil {
		t.Fatal(err)
	}
	var suite junit
	if err := xml.Unmarshal([]byte(text.String()), &suite); err != nil {
		t.Fatal(err)
	}
	if suite.Name != "load A" || suite.Tests != 4 || suite.Failures != 1 || suite.Errors != 0 || suite.Skipped != 2 {
		t.Errorf("got %+v, want 4 tests, one failed and two skipped", suite)
	}
	for _, c := range suite.Cases { // a weak machine is no failure of the server, nor a pass
		if c.Name == "increments.rate >= 10" && (c.Failure != nil || c.Skipped == nil ||
			c.Skipped.Message != "5, limit >= 10: B; a small machine") {
			t.Errorf("got %+v, want it skipped with the reason", c)
		}
	}
	first := suite.Cases[0]
	if first.Name != "api.p95 < 200ms" || first.Failure == nil ||
		first.Failure.Message != "300.0 ms, limit < 200 ms: a|b <c>" {
		t.Errorf("got %+v, want the missed criterion first", first)
	}
	text.Reset()
	if err := r.Markdown(&text); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text.String(), "\n")
	if lines[0] != "## Load test failed: 2 of 4 criteria missed, 1 not measured" ||
		lines[4] != `| ✗ | `+"`api.p95`"+` | 300.0 ms | &lt; 200 ms | a\|b &lt;c> |` {
		t.Errorf("got %q and %q", lines[0], lines[4])
	}
}
