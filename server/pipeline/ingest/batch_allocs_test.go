package ingest_test

import (
	"fmt"
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The items of a batch have no call object, channel or goroutine of their own: ten times as many cost little more.
func TestItemsOfABatchAllocateNothing(t *testing.T) { // not in parallel: it counts all allocations
	o := lanes
	o.Lanes, o.Batch, o.Queue = 4, 500, 5000
	outcomes := make([]scoreboard.Outcome, 500)
	in, stop := run(o, func(batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
		return outcomes[:len(batch)], nil
	})
	defer stop()
	allocations := func(items int) float64 {
		batch := make([]scoreboard.Increment, items)
		for i := range batch {
			batch[i] = inc(fmt.Sprint("user-", i%100), i)
		}
		return testing.AllocsPerRun(50, func() { in.SubmitAll(t.Context(), batch) })
	}
	few, many := allocations(50), allocations(500)
	if many-few > 450/4 {
		t.Errorf("50 items allocate %v times and 500 %v times, want less than one for every four more", few, many)
	}
}
