package ingest_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// slowRanks takes a while for each call, and notes how many receipts it had.
type slowRanks struct{ calls []int }

func (r *slowRanks) Rank(_ context.Context, receipts []*scoreboard.Receipt) {
	r.calls = append(r.calls, len(receipts))
	time.Sleep(100 * time.Millisecond)
	for _, receipt := range receipts {
		rank := int64(len(receipt.User)) // tells whose it is
		receipt.Rank = &rank
	}
}

// Batches that were committed while another one was ranked are ranked at once, and every caller
// gets the rank of its own receipt.
func TestWaitingBatchesAreRankedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ranks := &slowRanks{}
		o := lanes
		o.Batch = 1
		in, stop := runRanked(o, func(batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
			return recorded(batch), nil
		}, ranks)
		defer stop()
		var all sync.WaitGroup
		for n, user := range []string{"a", "bb", "ccc", "dddd"} {
			all.Go(func() {
				receipts, err := in.Submit(t.Context(), inc(user, n))
				if err != nil || len(receipts) != 1 || receipts[0].Rank == nil || *receipts[0].Rank != int64(n+1) {
					t.Errorf("%s: %+v, %v", user, receipts, err)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		if want := []int{1, 3}; !slices.Equal(ranks.calls, want) {
			t.Errorf("receipts by call: %v, want %v", ranks.calls, want)
		}
	})
}
