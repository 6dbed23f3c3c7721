package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

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
