// Package streams is the transport over Redis Streams: one stream for each
// shard, sharded by key. It is as durable as Redis is configured to be.
package streams

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Options are the settings of the transport.
type Options struct {
	Name   string // of the streams, without the shard: sb:stream
	Group  string
	Shards int   // streams that keys are spread over
	Length int64 // maximum of one stream: a full one rejects messages
	Batch  int   // records delivered at once

	// Retention is how long consumers keep an entry that their group has acknowledged;
	// 0 for no limit.
	Retention time.Duration
	// Consumed rejects messages to a stream that no consumer has created: nobody may ever
	// read them.
	Consumed bool
	// DropOldest drops the oldest entries of a full stream, and those older than the
	// retention, whether or not somebody has read them.
	DropOldest bool
}

// Transport implements transport.Producer. Consumer makes its other end.
type Transport struct {
	o   Options
	rdb redis.UniversalClient
}

// New uses rdb, which the caller closes.
func New(o Options, rdb redis.UniversalClient) *Transport { return &Transport{o, rdb} }

// stream names a shard. In a cluster each has a hash tag of its own, which spreads them
// over the servers.
func (t *Transport) stream(shard int) string {
	if _, ok := t.rdb.(*redis.ClusterClient); ok {
		return "{" + t.o.Name + ":" + strconv.Itoa(shard) + "}"
	}
	return "{" + t.o.Name + "}:" + strconv.Itoa(shard)
}

func (t *Transport) shardOf(key []byte) int {
	h := fnv.New32a()
	_, _ = h.Write(key) // a hash never fails
	return int(h.Sum32() % uint32(t.o.Shards))
}

var errFull = errors.New("the stream is full and its slowest group has not acknowledged its oldest entries")

// Produce writes messages and returns how many from the front Redis has taken. The error
// has the code overloaded if a stream is full, and scoreboard.ErrNoConsumer in its chain if
// Options.Consumed rejects a message.
func (t *Transport) Produce(ctx context.Context, messages []transport.Message) (int, error) {
	shards := make([]int, len(messages))
	for i, m := range messages {
		shards[i] = t.shardOf(m.Key)
	}
	if err := t.makeRoom(ctx, shards); err != nil {
		return 0, err
	}
	added := make([]*redis.StringCmd, len(messages))
	_, err := t.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, m := range messages {
			added[i] = p.XAdd(ctx, &redis.XAddArgs{
				Stream: t.stream(shards[i]), Values: fields(m), NoMkStream: t.o.Consumed,
			})
		}
		if t.o.DropOldest { // a stream to which nothing is written any more expires as a whole
			for shard := range t.o.Shards {
				p.Expire(ctx, t.stream(shard), t.o.Retention)
			}
		}
		return nil
	})
	if err == nil {
		return len(messages), nil
	}
	n := 0
	for n < len(added) && added[n].Err() == nil && added[n].Val() != "" {
		n++
	}
	if n < len(added) && added[n].Err() != nil {
		err = added[n].Err() // the first failure may be a later one's
	}
	if errors.Is(err, redis.Nil) {
		err = scoreboard.ErrNoConsumer
	}
	return n, fmt.Errorf("produce %d messages to %s: %w", len(messages), t.o.Name, err)
}

// Broadcast writes one message to every stream.
func (t *Transport) Broadcast(ctx context.Context, key, value []byte) error {
	values := fields(transport.Message{Key: key, Value: value})
	_, err := t.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range t.o.Shards {
			p.XAdd(ctx, &redis.XAddArgs{Stream: t.stream(shard), Values: values})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("broadcast to %s: %w", t.o.Name, err)
	}
	return nil
}

// Partitions is the number of streams.
func (t *Transport) Partitions(context.Context) (int, error) { return t.o.Shards, nil }

// The fields of an entry; headers follow.
const fieldKey, fieldValue = "k", "v"

func fields(m transport.Message) []any {
	all := []any{fieldKey, m.Key, fieldValue, m.Value}
	for _, h := range m.Headers {
		all = append(all, h.Key, h.Value)
	}
	return all
}

// makeRoom trims those streams of shards that are half full, but never entries that a
// group has not acknowledged. A stream that stays full is an error, and the relay waits.
func (t *Transport) makeRoom(ctx context.Context, shards []int) error {
	if t.o.DropOldest {
		return t.dropOldest(ctx)
	}
	lengths := make(map[int]*redis.IntCmd, t.o.Shards)
	_, err := t.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, shard := range shards {
			if lengths[shard] == nil {
				lengths[shard] = p.XLen(ctx, t.stream(shard))
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("measure %s: %w", t.o.Name, err)
	}
	for shard, length := range lengths {
		n := length.Val()
		if n < t.o.Length/2 {
			continue
		}
		trimmed, err := t.trim(ctx, t.stream(shard))
		if err != nil {
			return err
		}
		if n-trimmed >= t.o.Length {
			return &scoreboard.Error{
				Code: wire.CodeOverloaded, Message: "too many records are waiting", RetryAfter: fullRetry,
				Err: fmt.Errorf("%s: %w", t.stream(shard), errFull),
			}
		}
	}
	return nil
}

// fullRetry is when a full stream may have room again.
const fullRetry = 5 * time.Second

// dropOldest makes room in streams that nobody has to have read.
func (t *Transport) dropOldest(ctx context.Context) error {
	oldest := idOf(time.Now().Add(-t.o.Retention).UnixMilli() << 20)
	_, err := t.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range t.o.Shards {
			p.XTrimMaxLen(ctx, t.stream(shard), t.o.Length-1)
			p.XTrimMinID(ctx, t.stream(shard), oldest)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("trim %s: %w", t.o.Name, err)
	}
	return nil
}

// trim removes what every group has acknowledged.
func (t *Transport) trim(ctx context.Context, stream string) (int64, error) {
	groups, err := t.rdb.XInfoGroups(ctx, stream).Result()
	if err != nil {
		return 0, fmt.Errorf("list the groups of %s: %w", stream, err)
	}
	minID := ""
	for _, g := range groups {
		first, err := t.firstNeeded(ctx, stream, g)
		if err != nil {
			return 0, err
		}
		if minID == "" || offsetOf(first) < offsetOf(minID) {
			minID = first
		}
	}
	if minID == "" {
		return 0, nil // no group has read the stream yet
	}
	n, err := t.rdb.XTrimMinID(ctx, stream, minID).Result()
	if err != nil {
		return 0, fmt.Errorf("trim %s: %w", stream, err)
	}
	return n, nil
}

// firstNeeded is the id of the first entry that a group has not acknowledged, or of the
// next that will be written.
func (t *Transport) firstNeeded(ctx context.Context, stream string, g redis.XInfoGroup) (string, error) {
	if g.Pending > 0 {
		p, err := t.rdb.XPending(ctx, stream, g.Name).Result()
		if err != nil {
			return "", fmt.Errorf("list the pending entries of group %s in %s: %w", g.Name, stream, err)
		}
		if p.Count > 0 {
			return p.Lower, nil
		}
	}
	return idOf(offsetOf(g.LastDeliveredID) + 1), nil
}

// expire removes the entries that are older than the retention and that the group has
// acknowledged. Other groups cannot keep them, like in Kafka: entries name users, some
// of whom have been erased since.
func (t *Transport) expire(ctx context.Context, stream string) error {
	groups, err := t.rdb.XInfoGroups(ctx, stream).Result()
	if err != nil && !redis.HasErrorPrefix(err, "no such key") {
		return fmt.Errorf("list the groups of %s: %w", stream, err)
	}
	i := slices.IndexFunc(groups, func(g redis.XInfoGroup) bool { return g.Name == t.o.Group })
	if i < 0 {
		return nil // the group has not read the stream yet
	}
	now, err := t.rdb.Time(ctx).Result() // ids are of this clock
	if err != nil {
		return fmt.Errorf("read the clock of Redis: %w", err)
	}
	minID, err := t.firstNeeded(ctx, stream, groups[i])
	if err != nil {
		return err
	}
	if oldest := idOf(now.Add(-t.o.Retention).UnixMilli() << 20); offsetOf(oldest) < offsetOf(minID) {
		minID = oldest
	}
	if err := t.rdb.XTrimMinID(ctx, stream, minID).Err(); err != nil {
		return fmt.Errorf("trim %s: %w", stream, err)
	}
	return nil
}

// offsetOf packs an entry's id, "milliseconds-sequence", into a number that
// keeps the order. Offsets therefore have gaps.
func offsetOf(id string) int64 {
	ms, seq, _ := strings.Cut(id, "-")
	m, _ := strconv.ParseInt(ms, 10, 64) // ids come from Redis
	q, _ := strconv.ParseInt(seq, 10, 64)
	return m<<20 | q
}

// idOf is the inverse of offsetOf.
func idOf(offset int64) string {
	return strconv.FormatInt(offset>>20, 10) + "-" + strconv.FormatInt(offset&(1<<20-1), 10)
}
