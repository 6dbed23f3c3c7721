package broker

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// StreamsOptions are the settings of the transport over Redis Streams.
type StreamsOptions struct {
	Name   string // leaderboard:stream
	Group  string
	Shards int   // streams that users are spread over
	Length int64 // of one stream: at the bound the producer waits
	Batch  int
}

// Streams carries messages over Redis Streams, sharded by key. What it
// promises is what Redis persists.
type Streams struct {
	o   StreamsOptions
	rdb redis.UniversalClient
}

// NewStreams uses rdb, which the caller closes.
func NewStreams(o StreamsOptions, rdb redis.UniversalClient) *Streams { return &Streams{o, rdb} }

// stream names a shard. All share a hash tag: a cluster keeps them together.
func (s *Streams) stream(shard int) string {
	return "{" + s.o.Name + "}:" + strconv.Itoa(shard)
}

func (s *Streams) shardOf(key []byte) int {
	h := fnv.New32a()
	_, _ = h.Write(key) // a hash never fails
	return int(h.Sum32() % uint32(s.o.Shards))
}

var errFull = errors.New("a stream is full, and its slowest group has not come further")

// Produce writes messages and returns how many from the front Redis took.
func (s *Streams) Produce(ctx context.Context, messages []Message) (int, error) {
	if err := s.makeRoom(ctx); err != nil {
		return 0, err
	}
	added := make([]*redis.StringCmd, len(messages))
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, m := range messages {
			added[i] = p.XAdd(ctx, &redis.XAddArgs{Stream: s.stream(s.shardOf(m.Key)), Values: fields(m)})
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
	return n, fmt.Errorf("produce %d messages to %s: %w", len(messages), s.o.Name, err)
}

// Broadcast writes one value to every stream.
func (s *Streams) Broadcast(ctx context.Context, key, value []byte) error {
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range s.o.Shards {
			p.XAdd(ctx, &redis.XAddArgs{Stream: s.stream(shard), Values: fields(Message{Key: key, Value: value})})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("broadcast to %s: %w", s.o.Name, err)
	}
	return nil
}

func (s *Streams) count(context.Context) (int, error) { return s.o.Shards, nil }

// The fields of an entry; headers come behind.
const fieldKey, fieldValue = "k", "v"

func fields(m Message) []any {
	all := []any{fieldKey, m.Key, fieldValue, m.Value}
	for _, h := range m.Headers {
		all = append(all, h.Key, h.Value)
	}
	return all
}

// makeRoom trims streams that are half full, but never what a group has not
// acknowledged. At the bound it is an error, and the producer waits.
func (s *Streams) makeRoom(ctx context.Context) error {
	lengths := make([]*redis.IntCmd, s.o.Shards)
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range lengths {
			lengths[shard] = p.XLen(ctx, s.stream(shard))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("measure %s: %w", s.o.Name, err)
	}
	for shard, length := range lengths {
		n := length.Val()
		if n < s.o.Length/2 {
			continue
		}
		trimmed, err := s.trim(ctx, s.stream(shard))
		if err != nil {
			return err
		}
		if n-trimmed >= s.o.Length {
			return fmt.Errorf("%s: %w", s.stream(shard), errFull)
		}
	}
	return nil
}

// trim removes what every group has acknowledged.
func (s *Streams) trim(ctx context.Context, stream string) (int64, error) {
	groups, err := s.rdb.XInfoGroups(ctx, stream).Result()
	if err != nil {
		return 0, fmt.Errorf("look at the groups of %s: %w", stream, err)
	}
	least := ""
	for _, g := range groups {
		done := g.LastDeliveredID
		if g.Pending > 0 {
			p, err := s.rdb.XPending(ctx, stream, g.Name).Result()
			if err != nil {
				return 0, fmt.Errorf("look at what %s has not acknowledged of %s: %w", g.Name, stream, err)
			}
			if p.Count > 0 {
				done = p.Lower // this entry stays, those before it go
			}
		}
		if least == "" || offsetOf(done) < offsetOf(least) {
			least = done
		}
	}
	if least == "" {
		return 0, nil // nobody has read it yet
	}
	n, err := s.rdb.XTrimMinID(ctx, stream, least).Result()
	if err != nil {
		return 0, fmt.Errorf("trim %s: %w", stream, err)
	}
	return n, nil
}

// offsetOf packs an entry's id, "milliseconds-sequence", in its order.
func offsetOf(id string) int64 {
	ms, seq, _ := strings.Cut(id, "-")
	m, _ := strconv.ParseInt(ms, 10, 64) // ids are Redis's own
	q, _ := strconv.ParseInt(seq, 10, 64)
	return m<<20 | q
}
