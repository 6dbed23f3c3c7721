package ranking

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// heartbeats records how far changes were applied.
type heartbeats struct {
	*piece.Conn
	record *redis.Script
	spread atomic.Int64 // as of, in every bucket of a cluster; microseconds
}

// RecordHeartbeats records the time up to which the changes of each shard and
// partition are applied.
func (r *heartbeats) RecordHeartbeats(ctx context.Context, beats []scoreboard.Heartbeat) error {
	if len(beats) == 0 {
		return nil
	}
	last := beats[len(beats)-1]
	args := make([]any, 1, 1+2*len(beats))
	args[0] = fmt.Sprintf("%d/%d", last.Shards, last.Partitions)
	for _, b := range beats {
		args = append(args, piece.FreshField(b.Shard, b.Partition), b.AsOf.UnixMicro())
	}
	earliest, err := r.record.Run(ctx, r.Redis, []string{piece.FreshKey}, args...).Text()
	if err != nil && !errors.Is(err, redis.Nil) {
		return piece.Translate(fmt.Errorf("record heartbeats: %w", err))
	}
	if r.Keys.Clustered && err == nil {
		r.spreadHeartbeat(ctx, earliest)
	}
	r.Forget()
	return nil
}

// spreadTimeout bounds how long a server of a cluster that does not answer delays the
// projection.
const spreadTimeout = 500 * time.Millisecond

// spreadHeartbeat records in every bucket of a cluster the time up to which everything
// is applied, if that has advanced. A bucket that cannot be reached gets a later one:
// meanwhile its boards look older than they are.
func (r *heartbeats) spreadHeartbeat(ctx context.Context, earliest string) {
	at, err := strconv.ParseInt(earliest, 10, 64)
	before := r.spread.Load()
	if err != nil || at <= before {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, spreadTimeout)
	defer cancel()
	err = r.Pipelined(ctx, func(run func(*redis.Script, []string, ...any) *redis.Cmd) {
		for _, bucket := range r.Keys.All() {
			run(r.record, []string{r.Keys.Fresh(bucket)}, "1/1", piece.FreshField(0, 0), earliest)
		}
	})
	if err == nil {
		r.spread.CompareAndSwap(before, at)
	}
}
