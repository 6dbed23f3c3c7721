package broker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// StreamConsumer reads the streams as a member of a group. Each stream has one
// reader at a time, by a lease: a heartbeat may not overtake what came before
// it in another member's hands.
type StreamConsumer struct {
	streams *Streams
	name    string
	log     *slog.Logger
	lag     prometheus.Gauge
}

// How long a dead member's stream stays its own, and how long a read waits.
const (
	streamLease = 3 * time.Second
	streamBlock = 500 * time.Millisecond
)

// keepLease takes or renews a lease: the owner's name under a key that expires.
var keepLease = redis.NewScript(`
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then
    return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)

var endLease = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
    redis.call('DEL', KEYS[1])
end
return 0`)

// Consumer makes a member of the group.
func (s *Streams) Consumer(log *slog.Logger) *StreamConsumer {
	return &StreamConsumer{streams: s, name: rand.Text(), log: log, lag: newLag(s.o.Name)}
}

// Collectors are what the root registers.
func (c *StreamConsumer) Collectors() []prometheus.Collector { return []prometheus.Collector{c.lag} }

// measure keeps the lag up to date until ctx ends.
func (c *StreamConsumer) measure(ctx context.Context) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		if n, err := c.Behind(ctx); err == nil {
			c.lag.Set(float64(n))
		} else {
			c.log.Debug("lag not known", "streams", c.streams.o.Name, "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Consume calls handle with records as they come, and acknowledges them after
// it returned; batches of several streams at once. It returns nil when ctx
// ends, else the first error.
func (c *StreamConsumer) Consume(ctx context.Context, handle Handler) error {
	g, inner := errgroup.WithContext(ctx)
	g.Go(func() error { return c.measure(inner) })
	for shard := range c.streams.o.Shards {
		g.Go(func() error { return c.tend(inner, shard, handle) })
	}
	if err := g.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

// tend reads a stream whenever its lease can be had.
func (c *StreamConsumer) tend(ctx context.Context, shard int, handle Handler) error {
	r := &streamReader{c: c, shard: shard, stream: c.streams.stream(shard), handle: handle, held: -1}
	for ctx.Err() == nil {
		mine, err := r.keep(ctx)
		if err != nil {
			return err
		}
		if !mine {
			r.begun = false
			select {
			case <-time.After(streamLease / 4):
			case <-ctx.Done():
			}
			continue
		}
		if err := r.once(ctx); err != nil {
			r.release(ctx)
			return err
		}
	}
	r.release(ctx)
	return nil
}

type streamReader struct {
	c      *StreamConsumer
	shard  int
	stream string
	handle Handler
	begun  bool  // what others left unacknowledged has been taken over
	held   int64 // first offset that is held; -1: none
}

func (r *streamReader) leaseKey() string { return r.stream + ":reader:" + r.c.streams.o.Group }

func (r *streamReader) keep(ctx context.Context) (bool, error) {
	n, err := keepLease.Run(ctx, r.c.streams.rdb, []string{r.leaseKey()}, r.c.name, streamLease.Milliseconds()).Int64()
	if err != nil {
		return false, fmt.Errorf("keep the lease of %s: %w", r.stream, err)
	}
	return n == 1, nil
}

// release ends the lease early, so that the next reader need not wait.
func (r *streamReader) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := endLease.Run(ctx, r.c.streams.rdb, []string{r.leaseKey()}, r.c.name).Err(); err != nil {
		r.c.log.Debug("lease left to expire", "stream", r.stream, "err", err)
	}
}

// once handles a batch: first what was delivered and never acknowledged, by
// whomever, then what is new.
func (r *streamReader) once(ctx context.Context) error {
	o, rdb := &r.c.streams.o, r.c.streams.rdb
	if !r.begun {
		if err := rdb.XGroupCreateMkStream(ctx, r.stream, o.Group, "0").Err(); err != nil && !redis.HasErrorPrefix(err, "BUSYGROUP") {
			return fmt.Errorf("make the group of %s: %w", r.stream, err)
		}
		if err := r.takeOver(ctx); err != nil {
			return err
		}
		r.begun = true
	}
	found, err := rdb.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: o.Group, Consumer: r.c.name, Streams: []string{r.stream, ">"}, Count: int64(o.Batch), Block: streamBlock,
	}).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return nil
	case redis.HasErrorPrefix(err, "NOGROUP"): // Redis was flushed
		r.begun = false
		return nil
	case err != nil:
		return fmt.Errorf("read %s: %w", r.stream, err)
	}
	return r.handleAll(ctx, found[0].Messages)
}

// takeOver handles what nobody has acknowledged, and forgets the members that
// it was delivered to.
func (r *streamReader) takeOver(ctx context.Context) error {
	o, rdb := &r.c.streams.o, r.c.streams.rdb
	for start := "0-0"; ; {
		entries, next, err := rdb.XAutoClaim(ctx, &redis.XAutoClaimArgs{
			Stream: r.stream, Group: o.Group, Consumer: r.c.name, Start: start, Count: int64(o.Batch),
		}).Result()
		if err != nil {
			return fmt.Errorf("claim what is pending of %s: %w", r.stream, err)
		}
		if err := r.handleAll(ctx, entries); err != nil {
			return err
		}
		if start = next; start == "0-0" {
			break
		}
	}
	members, err := rdb.XInfoConsumers(ctx, r.stream, o.Group).Result()
	if err != nil {
		return fmt.Errorf("list the members of %s: %w", o.Group, err)
	}
	for _, m := range members {
		if m.Name == r.c.name || m.Pending > 0 {
			continue
		}
		if err := rdb.XGroupDelConsumer(ctx, r.stream, o.Group, m.Name).Err(); err != nil {
			return fmt.Errorf("forget a member of %s: %w", o.Group, err)
		}
	}
	return nil
}

func (r *streamReader) handleAll(ctx context.Context, entries []redis.XMessage) error {
	var records []Record
	var ids []string
	for _, e := range entries {
		record := recordOf(r.shard, e)
		if r.held >= 0 && record.Offset >= r.held {
			continue
		}
		records, ids = append(records, record), append(ids, e.ID)
	}
	if len(records) == 0 {
		return nil
	}
	left, err := r.handle(ctx, records)
	if err != nil {
		return fmt.Errorf("handle %d records of %s: %w", len(records), r.stream, err)
	}
	if first, is := left[r.shard]; is {
		r.held = first
		r.c.log.Error("stream held", "stream", r.stream, "offset", first)
		for i := range records {
			if records[i].Offset >= first {
				ids = ids[:i]
				break
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := r.c.streams.rdb.XAck(ctx, r.stream, r.c.streams.o.Group, ids...).Err(); err != nil {
		return fmt.Errorf("acknowledge %d records of %s: %w", len(ids), r.stream, err)
	}
	return nil
}

// recordOf reads an entry; one of somebody else's has no value, and is
// malformed.
func recordOf(shard int, e redis.XMessage) Record {
	offset := offsetOf(e.ID)
	key, _ := e.Values[fieldKey].(string)
	value, _ := e.Values[fieldValue].(string)
	return Record{Partition: shard, Offset: offset, Key: []byte(key), Value: []byte(value), Time: time.UnixMilli(offset >> 20)}
}
