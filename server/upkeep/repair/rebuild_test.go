package repair_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

func TestRebuildUnderTrafficMatchesTheStore(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, 0, 60)
	first := r.rebuild(t)
	stop := make(chan struct{})
	var all sync.WaitGroup
	var at scoreboard.Cursor
	all.Go(func() {
		for {
			r.record(t, rand.IntN(60), 15)
			at = r.relay(t, at)
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	var last *repair.RebuildResult
	for range 10 {
		last = r.rebuild(t)
	}
	close(stop)
	all.Wait()
	// A transaction of any database of the server holds back what is relayed.
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		at = r.relay(t, at)
		if r.check(t, false).DifferenceCount == 0 {
			break
		}
	}
	if last.Epoch < first.Epoch+10 {
		t.Errorf("epoch %d after ten rebuilds from %d", last.Epoch, first.Epoch)
	}
	r.same(t)
	if v := r.check(t, false); v.DifferenceCount > 0 {
		t.Errorf("%d differences: %v", v.DifferenceCount, v.Differences[0])
	}
}

// TestUnusedPartitionsAreSwept leaves partitions as a rebuild that was killed after it swapped
// them in: the board has other ones by now, or none.
func TestUnusedPartitionsAreSwept(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, 0, 30)
	r.rebuild(t)
	unused := []string{"sb:{global/8/3}:meta", "sb:{global/8/3}:rank", "sb:{global/8/3}:users"}
	r.rdb.HSet(ctx, "sb:{global}:layouts", "8", "killed")
	r.rdb.HSet(ctx, unused[0], "epoch", 5)
	r.rdb.ZAdd(ctx, unused[1], redis.Z{Member: "12345678alice"})
	r.rdb.HSet(ctx, unused[2], "alice", "12345678-1 1 1 0")
	r.startRebuilder(t)
	deadline := time.Now().Add(20 * time.Second)
	for r.rdb.Exists(ctx, append(unused, "sb:{global}:layouts")...).Val() > 0 {
		if time.Now().After(deadline) {
			t.Fatal("unused partitions are left")
		}
		time.Sleep(20 * time.Millisecond)
	}
	r.same(t)
}

// cancelingRanking cancels the rebuild after the first chunk.
type cancelingRanking struct {
	*ranking.Ranking
	cancel context.CancelFunc
}

func (c cancelingRanking) Fill(
	ctx context.Context,
	board scoreboard.BoardID,
	token string,
	changes []scoreboard.Change,
) error {
	err := c.Ranking.Fill(ctx, board, token, changes)
	c.cancel()
	return err
}

func TestInterruptedRebuildLeavesTheBoardUnchanged(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, 0, 30)
	r.rebuild(t)
	before, err := r.rdb.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	interrupted, cancel := context.WithCancel(ctx)
	if _, err := repair.Rebuild(
		interrupted,
		r.Recovery,
		cancelingRanking{r.ranking, cancel},
		&r.board,
		func(int64) {},
	); err == nil {
		t.Fatal("the rebuild was not interrupted")
	}
	after, err := r.rdb.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(before)
	slices.Sort(after)
	if !slices.Equal(before, after) {
		t.Errorf("keys after the rebuild: %q, want %q", after, before)
	}
	r.rebuild(t) // the shadow of the first is gone
	r.same(t)
}
