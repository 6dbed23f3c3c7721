package repair_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/repair"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestARebuildUnderTrafficEndsInTheTruth(t *testing.T) {
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
	var last *repair.Rebuilt
	for range 10 {
		last = r.rebuild(t)
	}
	close(stop)
	all.Wait()
	at = r.relay(t, at)
	if last.Epoch != first.Epoch+10 {
		t.Errorf("epoch %d after ten rebuilds from %d", last.Epoch, first.Epoch)
	}
	r.same(t)
	if v := r.check(t, false); v.Wrong > 0 {
		t.Errorf("%d differences: %v", v.Wrong, v.Differences[0])
	}
}

// cutOff is a ranking that loses its rebuild in the middle.
type cutOff struct {
	*ranking.Ranking
	cancel context.CancelFunc
}

func (c cutOff) Fill(ctx context.Context, board scoreboard.BoardID, token string, changes []scoreboard.Change) error {
	err := c.Ranking.Fill(ctx, board, token, changes)
	c.cancel()
	return err
}

func TestAnInterruptedRebuildLeavesTheBoardAsItWas(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, 0, 30)
	r.rebuild(t)
	before, err := r.rdb.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	interrupted, cancel := context.WithCancel(ctx)
	if _, err := repair.Rebuild(interrupted, r.Store, cutOff{r.ranking, cancel}, &r.board, func(int64) {}); err == nil {
		t.Fatal("it was not interrupted")
	}
	after, err := r.rdb.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(before)
	slices.Sort(after)
	if !slices.Equal(before, after) {
		t.Errorf("left are %q, want %q", after, before)
	}
	r.rebuild(t) // and at once, nobody's mark is in the way
	r.same(t)
}
