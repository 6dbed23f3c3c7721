package redisurl_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
)

// A script in a pipeline whose keys are on two servers, because their slot is being
// moved, succeeds when the slot has arrived.
func TestPipelineWaitsForMovedSlot(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	cluster := backends.OwnRedisCluster(t, 2, 0)
	rdb := cluster.Client()
	keys := []string{"{moved}a", "{moved}b"}
	for _, key := range keys {
		if err := rdb.Set(ctx, key, 1, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	from := cluster.Primary(keys[0])
	arrive := cluster.BeginMove(from, 1-from, int(rdb.ClusterKeySlot(ctx, keys[0]).Val()), keys[0])
	script := redis.NewScript(`return redis.call('GET', KEYS[1]) + redis.call('GET', KEYS[2])`)
	if err := script.Eval(ctx, cluster.Node(1-from), keys).Err(); err == nil {
		t.Fatal("the script runs while its keys are on two servers")
	}
	done := make(chan struct{})
	time.AfterFunc(100*time.Millisecond, func() { defer close(done); arrive() })
	var sum *redis.Cmd
	_, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Get(ctx, keys[1]) // the client repeats the whole pipeline only for its first command
		sum = script.Eval(ctx, p, keys)
		return nil
	})
	<-done
	if n, _ := sum.Int(); err != nil || n != 2 {
		t.Errorf("got %d, %v; want 2", n, err)
	}
}
