package report

import (
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
