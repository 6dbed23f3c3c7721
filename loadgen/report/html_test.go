package report

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/loadgen/criteria"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// An empty chart would look like a chart of zeros.
func TestNoChartWithoutSamples(t *testing.T) {
	t.Parallel()
	for sampled, n := range map[bool]int{true: 1, false: 0} {
		b := NewBuilder(record.Header{Duration: time.Second, Scheduled: []uint64{1}})
		b.Hit(record.Hit{N: 1, Status: 200})
		if sampled {
			b.Sample(record.Sample{Where: "redis", Took: time.Millisecond})
		}
		b.Ending(record.Ending{Lasted: time.Second})
		r, err := b.Report()
		if err != nil {
			t.Fatal(err)
		}
		var page strings.Builder
		if err := r.HTML(&page); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(page.String(), "<figure>"); got != 5+n {
			t.Errorf("sampled %v: got %d charts, want %d", sampled, got, 5+n)
		}
	}
}

// A recorded run has its parameters from JSON, where numbers are floats: the seed keeps all digits,
// because a run is repeated with it.
func TestSeedKeepsItsDigits(t *testing.T) {
	t.Parallel()
	r := &Report{}
	if err := json.Unmarshal([]byte(`{"parameters": {"seed": 1795744495123456, "reads": 0.1}}`), r); err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"line": ParametersText(r.Parameters), "page": page.String()} {
		if !strings.Contains(text, "1795744495123456") || !strings.Contains(text, "0.1") {
			t.Errorf("the %s lacks the seed or the share of reads:\n%s", name, text)
		}
	}
}

// A chart of latencies has the limits of the criteria at their places, and the axis reaches them.
func TestLimitsAreDrawn(t *testing.T) {
	t.Parallel()
	r, _, err := Make(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, c := range r.charts() {
		for _, l := range c.Limits {
			found[c.Title+": "+l.Text+" "+l.Class] = l.At
			if at, err := strconv.ParseFloat(l.At, 64); err != nil || at <= 0 || at > 100 {
				t.Errorf("%s of %s is at %s %%", l.Text, c.Title, l.At)
			}
		}
	}
	// The axis of the latencies goes from 1 ms to 1 s: 200 ms are at log10(200) of 3. That of the
	// freshness, whose samples took 90 ms, goes from 10 ms to 10 s.
	want := map[string]string{
		"Latency of increments: api.p99 <= 200 ms bad": "76.7",
		"Freshness: freshness.redis.p95 <= 2000 ms ":   "76.7",
	}
	if !maps.Equal(found, want) {
		t.Errorf("got the limits %v, want those of measured latencies: %v", found, want)
	}
	var page strings.Builder
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	const drawn = `<span class="bad" style="bottom:76.7%"><b>api.p99 &lt;= 200 ms</b></span>`
	if !strings.Contains(page.String(), drawn) {
		t.Errorf("the page lacks %s", drawn)
	}
}

// A measured duration looks as in the rest of the report, unless that would hide why it missed its limit.
func TestShownValues(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct {
		value float64
		want  string
	}{
		"api.p95 <= 200ms":   {75.007, "75.0 ms"},
		"api.p99 <= 200ms":   {200.04, "200.04 ms"},
		"api.max <= 2s":      {1012.5, "1,013 ms"},
		"reads.p95 < 10ms":   {0.4321, "0.432 ms"},
		"duration >= 15m":    {900_000, "15m0s"},
		"errors < 1%":        {0.333, "0.333%"},
		"redis.p95 <= 0.2ms": {0, "0 ms"},
	} {
		parsed, err := criteria.Parse(text, "the test")
		if err != nil {
			t.Fatal(err)
		}
		if got := shownValue(parsed, c.value); got != c.want {
			t.Errorf("%s: %v is shown as %s, want %s", text, c.value, got, c.want)
		}
	}
}
