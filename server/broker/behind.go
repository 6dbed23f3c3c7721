package broker

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Behind is how many records of the topic the group has not consumed.
func (c *Consumer) Behind(ctx context.Context) (int64, error) {
	all, err := c.positions(ctx)
	if err != nil {
		return 0, err
	}
	var n int64
	for _, p := range all {
		n += p.lag()
	}
	return n, nil
}

// Behind is how many entries of the streams the group has not acknowledged.
func (c *StreamConsumer) Behind(ctx context.Context) (int64, error) {
	var n int64
	for shard := range c.streams.o.Shards {
		of, err := c.streams.behind(ctx, c.streams.stream(shard))
		if err != nil {
			return 0, err
		}
		n += of
	}
	return n, nil
}

func (s *Streams) behind(ctx context.Context, stream string) (int64, error) {
	length, err := s.rdb.XLen(ctx, stream).Result()
	if err != nil || length == 0 {
		return 0, withStream(err, stream)
	}
	groups, err := s.rdb.XInfoGroups(ctx, stream).Result()
	if err != nil {
		return 0, withStream(err, stream)
	}
	for _, g := range groups {
		if g.Name != s.o.Group {
			continue
		}
		// Redis does not always know its own count, but whether there is a next.
		next, err := s.rdb.XRangeN(ctx, stream, "("+g.LastDeliveredID, "+", 1).Result()
		if err != nil || len(next) == 0 {
			return g.Pending, withStream(err, stream)
		}
		return g.Pending + max(g.Lag, 1), nil
	}
	return length, nil // nobody has read it yet
}

func withStream(err error, stream string) error {
	if err == nil || redis.HasErrorPrefix(err, "ERR no such key") { // flushed in between
		return nil
	}
	return fmt.Errorf("ask what is unread of %s: %w", stream, err)
}

// Behind is nothing: what is not handled was not taken.
func (d *Direct) Behind(context.Context) (int64, error) { return 0, nil }
