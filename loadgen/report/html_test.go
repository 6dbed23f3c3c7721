package report

import (
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/loadgen/record"
)

// A chart without a measurement would look like one of nothing but zeros.
func TestWhatNobodyWatchedHasNoChart(t *testing.T) {
	t.Parallel()
	for watched, n := range map[bool]int{true: 1, false: 0} {
		b := NewBuilder(record.Header{Duration: time.Second, Asked: []uint64{1}})
		b.Hit(record.Hit{N: 1, Status: 200})
		if watched {
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
		if got := strings.Count(page.String(), "<figure>"); got != 4+n {
			t.Errorf("watched %v: got %d charts", watched, got)
		}
	}
}
