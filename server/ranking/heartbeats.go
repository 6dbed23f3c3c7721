package ranking

import (
	"cmp"
	"context"
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
	record  *redis.Script
	spread  atomic.Int64 // as of, in every bucket of a cluster; microseconds
	witness *witness
}

// RecordHeartbeats records the time up to which the changes of each shard and
// partition are applied.
func (r *heartbeats) RecordHeartbeats(ctx context.Context, beats []scoreboard.Heartbeat) error {
	if len(beats) == 0 {
		return nil
	}
	last := beats[len(beats)-1]
	args := r.witness.arguments(fmt.Sprintf("%d/%d", last.Shards, last.Partitions), r.Keys.Total())
	for _, b := range beats {
		args = r.witness.appendField(args, piece.FreshField(b.Shard, b.Partition), b.AsOf.UnixMicro())
	}
	earliest, err := r.recordBeats(r.Keys.Total(), r.record.Run(ctx, r.Redis, []string{piece.FreshKey}, args...))
	if err != nil {
		return piece.Translate(fmt.Errorf("record heartbeats: %w", err))
	}
	for _, b := range beats {
		r.witness.recorded(piece.FreshField(b.Shard, b.Partition))
	}
	if r.Keys.Clustered && earliest != "" {
		r.spreadHeartbeat(ctx, earliest)
	}
	r.Forget()
	return nil
}

// recordBeats reads what heartbeats.lua returned, and notes the server.
func (r *heartbeats) recordBeats(bucket int, answer *redis.Cmd) (earliest string, err error) {
	values, err := answer.Slice()
	if err != nil {
		return "", err
	}
	if len(values) == 0 {
		return "", fmt.Errorf("the reply %v is malformed", values)
	}
	server, _ := values[0].(string)
	r.witness.found(bucket, server)
	if len(values) > 1 {
		earliest, _ = values[1].(string)
	}
	return earliest, nil
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
	err = r.beatBuckets(ctx, func(bucket int) []any {
		return append(r.witness.arguments("1/1", bucket), piece.FreshField(0, 0), earliest, "1")
	})
	if err == nil {
		r.spread.CompareAndSwap(before, at)
	}
}

// beatBuckets records a field in every bucket.
func (r *heartbeats) beatBuckets(ctx context.Context, arguments func(bucket int) []any) error {
	buckets := r.Keys.All()
	answers := make([]*redis.Cmd, len(buckets))
	err := r.Pipelined(ctx, func(run func(*redis.Script, []string, ...any) *redis.Cmd) {
		for i, bucket := range buckets {
			answers[i] = run(r.record, []string{r.Keys.Fresh(bucket)}, arguments(bucket)...)
		}
	})
	for i, bucket := range buckets {
		_, answerErr := r.recordBeats(bucket, answers[i])
		err = cmp.Or(err, answerErr)
	}
	return err
}

// Publishing is called by a process that publishes changes through the same Redis, before it does;
// the returned function when that has ended. Like a write to a board, what was published to a
// server that was left may be missing on the next one.
func (r *heartbeats) Publishing(ctx context.Context) (end func(), err error) {
	if err := r.witness.ask(ctx); err != nil {
		return nil, err
	}
	return r.witness.write(), nil
}

// BeforeHeartbeat is called before a heartbeat of a shard is published through the same Redis: it
// doubts the boards that were rebuilt before the last change was published to another server.
func (r *heartbeats) BeforeHeartbeat(ctx context.Context, h scoreboard.Heartbeat) error {
	field := "relay/" + strconv.Itoa(h.Shard)
	known := r.witness.changed()
	beat := func() error {
		return r.beatBuckets(ctx, func(bucket int) []any {
			return r.witness.appendField(r.witness.arguments("", bucket), field, h.AsOf.UnixMicro())
		})
	}
	err := beat()
	if err == nil && r.Keys.Clustered && r.witness.changed() != known {
		r.witness.suspectAll() // what was published to one server is of boards on all
		err = beat()
	}
	if err != nil {
		return piece.Translate(fmt.Errorf("record what shard %d was published to: %w", h.Shard, err))
	}
	r.witness.recorded(field)
	return nil
}
